// How an answer says that the database could not give it just now, so that the client asks again.

/** GraphQL's codes for that, in an answer of status 200. */
export const UNAVAILABLE_CODES = ["UNAVAILABLE", "LOCKED"];

/** The errors of a GraphQL answer; undefined where it has none. */
export const errorsIn = (text: string): GraphqlError[] | undefined =>
  (JSON.parse(text) as { errors?: GraphqlError[] }).errors;

interface GraphqlError {
  extensions?: { code?: string };
}

/** Whether an answer is 503 with Retry-After, or in GraphQL has errors that all have such a code. */
export function isToldUnavailable(status: number, headers: string[], text: string): boolean {
  if (status === 503) return headers.includes("Retry-After");
  if (status !== 200) return false;
  return (
    errorsIn(text)?.every(({ extensions }) => UNAVAILABLE_CODES.includes(extensions?.code ?? "")) ??
    false
  );
}
