// Reads REST and GraphQL for the pages: no answer is older than what the page has shown, whichever service answers.

const RETRY_S = 3;
/** So many errors in an answer of GraphQL, which may pass, and then it is refused. */
const MAX_ERRORS = 5;
/** Of those of 4xx, what may be another one later: a timeout, and too many requests. */
const PASSING = [408, 429];
/** So many services in turn without the block: a balancer has asked each of them. */
const LACKING = 5;

/** The highest block that the page has seen. */
let seen = 0;
/** Grows with each reorganisation: an answer from before it may be of a block that was taken back. */
let retractions = 0;

/** @param {number | null} block */
export function seeBlock(block) {
  seen = Math.max(seen, block ?? 0);
}

/** A reorganisation. @param {number | null} block The last block that stands. */
export function takeBackTo(block) {
  retractions += 1;
  seen = Math.min(seen, block ?? 0);
}

/** @param {Response | undefined} answer @param {string} header @param {number} absent */
const numberOf = (answer, header, absent) => Number(answer?.headers.get(header) ?? absent);

/**
 * The data of an answer, asked again while the service is away, reports an error, or has no block as new as the page has
 * seen. Undefined once it is not wanted any more, or where it is refused.
 * @template Data
 * @param {(headers: Record<string, string>) => Promise<Response>} request
 * @param {() => boolean} isWanted
 * @returns {Promise<Data | undefined>}
 */
async function readBy(request, isWanted) {
  /** The heads of the services that lacked the block, one after another. @type {number[]} */
  let lacking = [];
  let errors = 0;
  while (isWanted()) {
    const before = retractions;
    const headers = { "X-Min-Block": String(seen) };
    const answer = await request(headers).catch(() => undefined);
    const body = answer?.ok ? await answer.json().catch(() => undefined) : undefined;
    const block = numberOf(answer, "X-Head-Block", NaN);
    if (body !== undefined && body.errors === undefined) {
      if (retractions === before && !Number.isNaN(block)) seeBlock(block);
      return isWanted() ? body.data : undefined;
    }
    errors += body === undefined ? 0 : 1;
    // It would be refused again, as where there is no such block.
    const isRefused =
      answer && answer.status >= 400 && answer.status < 500 && !PASSING.includes(answer.status);
    if (isRefused || errors === MAX_ERRORS) return undefined;
    lacking = block < seen ? [...lacking, block] : [];
    // No service has the block: it was taken back, and the stream has not sent that yet.
    if (lacking.length === LACKING) takeBackTo(Math.max(...lacking));
    const seconds = numberOf(answer, "Retry-After", RETRY_S);
    // It may also be a date.
    const wait = Number.isFinite(seconds) ? seconds : RETRY_S;
    await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
  }
  return undefined;
}

/**
 * Of REST.
 * @template Data
 * @param {string} path
 * @param {() => boolean} isWanted
 * @returns {Promise<Data | undefined>}
 */
export const read = (path, isWanted) =>
  readBy((headers) => fetch(path, { cache: "no-cache", headers }), isWanted);

/**
 * Of GraphQL.
 * @template Data
 * @param {string} query
 * @param {Record<string, unknown>} variables
 * @param {() => boolean} isWanted
 * @returns {Promise<Data | undefined>}
 */
export const ask = (query, variables, isWanted) =>
  readBy(
    (headers) =>
      fetch("/graphql", {
        method: "POST",
        headers: { ...headers, "Content-Type": "application/json" },
        body: JSON.stringify({ query, variables }),
      }),
    isWanted,
  );
