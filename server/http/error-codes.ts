// By which code GraphQL's clients, and the metrics, know an error of the service.
import type { ClientFacingError } from "./errors.ts";

const BY_NAME = new Map([
  ["TookTooLong", "TIMEOUT"],
  ["DataLocked", "LOCKED"],
  ["TooManyAtOnce", "TOO_MANY_AT_ONCE"],
]);

const BY_STATUS = new Map([
  [400, "BAD_REQUEST"],
  [408, "REQUEST_TOO_SLOW"],
  [413, "BODY_TOO_LARGE"],
  [414, "URL_TOO_LONG"],
  [417, "EXPECTATION_FAILED"],
  [429, "RATE_LIMITED"],
  [431, "HEADERS_TOO_LONG"],
  [500, "INTERNAL_SERVER_ERROR"],
  [503, "UNAVAILABLE"],
]);

/** The `extensions.code` of an error; undefined for one that GraphQL never gives. */
export const graphqlCode = ({ name, status }: ClientFacingError): string | undefined =>
  BY_NAME.get(name) ?? BY_STATUS.get(status);
