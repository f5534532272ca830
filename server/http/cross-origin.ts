// Lets web pages of any origin read the answers: there is nothing private in them.
import cors from "cors";

/** Without this a page could not see them. */
export const EXPOSED_HEADERS = "ETag,Retry-After,Allow,X-Request-Id,RateLimit,RateLimit-Policy";

const ANY_ORIGIN = {
  origin: "*",
  exposedHeaders: EXPOSED_HEADERS,
  // The allowed methods change with a release only.
  maxAge: 3600,
};

/** Answers a preflight on a path that is only read. The route tells the methods. */
export const readFromAnyOrigin = cors({
  ...ANY_ORIGIN,
  methods: ["GET", "HEAD"],
  preflightContinue: true,
});

/** For GraphQL, which takes POST; answers the preflight itself. */
export const queryFromAnyOrigin = cors({ ...ANY_ORIGIN, methods: ["GET", "HEAD", "POST"] });
