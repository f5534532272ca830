// PostGraphile runs in development mode unless GRAPHILE_ENV is set before it is loaded.
process.env["GRAPHILE_ENV"] ??= "production";
// A plan within the limits of an operation times out by chance only, as on a halted machine. grafast would repeat
// the error to everybody with that query for a minute.
process.env["GRAFAST_TIMEOUT_VALIDITY_MS"] ??= "1";
