// Follows topics of /v2/stream, and reconnects by itself.
import { seeBlock, takeBackTo } from "./read-service.js";

const RETRY_MS = 3000;

/** The event of the window when the service does not answer. */
export const UNREACHABLE = "unreachable";

/**
 * @typedef {{ block: number | null, time: string | null, topics: Record<string, unknown>, more?: boolean }} Update
 * @typedef {{ block: number | null, time: string | null, trade: number }} Retraction
 * @typedef {"connecting" | "live" | "lost" | "past" | "reading"} Connection The last two are those of a page of a past block.
 * @typedef {{
 *   update: (update: Update) => void,
 *   retract: (retraction: Retraction) => void,
 *   reset: () => void,
 *   connection: (connection: Connection) => void,
 * }} Follower
 */

/**
 * Returns what ends it, which returns the id of the last event.
 * @param {readonly string[]} topics
 * @param {Follower} follower
 * @param {string} [from] The id of an event of another stream: what has come since is not missed.
 */
export function follow(topics, follower, from) {
  const asked = new URLSearchParams({ topics: topics.join(","), ...(from && { from }) });
  /** @type {EventSource | undefined} */
  let source;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let retry;

  const open = () => {
    const opened = new EventSource(`/v2/stream?${asked}`);
    source = opened;
    /** @param {string} kind @param {(data: never) => void} apply */
    const on = (kind, apply) =>
      opened.addEventListener(kind, ({ data, lastEventId }) => {
        if (lastEventId) asked.set("from", lastEventId);
        apply(/** @type {never} */ (JSON.parse(data)));
      });
    on("update", (/** @type {Update} */ update) => {
      seeBlock(update.block);
      follower.update(update);
    });
    on("retract", (/** @type {Retraction} */ retraction) => {
      takeBackTo(retraction.block);
      follower.retract(retraction);
    });
    on("reset", () => {
      takeBackTo(null);
      follower.reset();
    });
    opened.addEventListener("open", () => follower.connection("live"));
    opened.addEventListener("error", () => {
      follower.connection("lost");
      // After another status than 200 the browser does not reconnect.
      if (opened.readyState === EventSource.CLOSED) retry = setTimeout(open, RETRY_MS);
    });
  };
  const close = () => {
    clearTimeout(retry);
    source?.close();
  };
  // A browser has six connections to a host: the streams of hidden pages would leave none for the next page.
  const reopen = () => {
    close();
    if (!document.hidden) open();
  };
  const lose = () => follower.connection("lost");
  // A connection that breaks silently gives no error.
  const renew = () => {
    lose();
    reopen();
  };
  const ending = new AbortController();
  const { signal } = ending;
  document.addEventListener("visibilitychange", reopen, { signal });
  addEventListener("online", reopen, { signal });
  addEventListener("offline", lose, { signal });
  addEventListener(UNREACHABLE, renew, { signal });
  reopen();
  return () => {
    ending.abort();
    close();
    return asked.get("from") ?? undefined;
  };
}

/**
 * A symbol within a topic.
 * @param {string} symbol
 */
const inTopic = (symbol) => symbol.replace(/[%/,:]/g, encodeURIComponent);

/**
 * The path of a stream, as a reader can type it: a comma, a colon and a slash mean themselves in a query string.
 * @param {readonly string[]} topics
 */
export const streamPath = (topics) =>
  `/v2/stream?topics=${encodeURIComponent(topics.join(",")).replace(/%(?:2C|3A|2F)/g, decodeURIComponent)}`;

/** @param {{ base: string, quote: string }} pair */
export const topicName = ({ base, quote }) => `${inTopic(base)}/${inTopic(quote)}`;
