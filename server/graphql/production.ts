// PostGraphile runs in development mode unless GRAPHILE_ENV is set before it is loaded.
process.env["GRAPHILE_ENV"] ??= "production";
