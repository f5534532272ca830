// Lets web pages of any origin read the answers, which are public.
import cors from "cors";

/** Browsers hide other headers from a page of another origin. */
export const EXPOSED_HEADERS =
  "ETag,Retry-After,Allow,X-Request-Id,X-Head-Block,RateLimit,RateLimit-Policy,Content-Digest,Content-Range,Accept-Ranges";

const ANY_ORIGIN = {
  origin: "*",
  exposedHeaders: EXPOSED_HEADERS,
  // The allowed methods change with a release only.
  maxAge: 3600,
};

/** The route answers OPTIONS itself, with `Allow`. */
export const readFromAnyOrigin = cors({
  ...ANY_ORIGIN,
  methods: ["GET", "HEAD"],
  preflightContinue: true,
});

/** For GraphQL; it answers the preflight. */
export const queryFromAnyOrigin = cors({ ...ANY_ORIGIN, methods: ["GET", "HEAD", "POST"] });
