// PostGraphile plans and prints as in development unless it is told otherwise before it is loaded.
process.env["GRAPHILE_ENV"] ??= "production";
