// Lets web pages of any origin read what the service publishes; there is nothing private in it.
import cors from "cors";

const ANY_ORIGIN = {
  origin: "*",
  // Without this a page could not see them.
  exposedHeaders: [
    ...["ETag", "Retry-After", "Allow", "X-Request-Id"],
    ...["RateLimit", "RateLimit-Policy"],
  ],
  // One preflight an hour is enough: what is allowed changes with a release only.
  maxAge: 3600,
};

/** For every path. OPTIONS goes on to the route, since only it knows whether the path is served. */
export const readFromAnyOrigin = cors({
  ...ANY_ORIGIN,
  methods: ["GET", "HEAD"],
  preflightContinue: true,
});

/** For GraphQL, which is asked by POST; answers the preflight itself. */
export const queryFromAnyOrigin = cors({ ...ANY_ORIGIN, methods: ["GET", "HEAD", "POST"] });
