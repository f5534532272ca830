// The topics of a stream: reads their names, and says what is wrong with them.
import { ClientFacingError } from "../../server/http/errors.ts";
import { INTERVALS, type Interval } from "../../server/http/live/candle-intervals.ts";
import type { PairName } from "../params.ts";

export const KINDS = ["head", "trades", "market", "summary", "candles", "book"] as const;
type Kind = (typeof KINDS)[number];

/** A topic of one market, or the head. */
export interface Topic {
  kind: Kind;
  /** Its canonical name; equal topics have equal names. */
  name: string;
  /** Undefined for the head. */
  pair: PairName | undefined;
  /** Of candles. */
  interval?: Interval | undefined;
  /** Of a book. */
  depth?: number | undefined;
}

/** A topic as a client asks for it: of one market, or of all. */
export type AskedTopic = Topic | AllMarkets;

export interface AllMarkets {
  kind: Kind;
  name: string;
  pair: "*";
}

const OF_ALL: readonly string[] = ["trades", "market", "summary"];
const MAX_DEPTH = 1000;
/** Of all books of a stream: its first event has twice as many levels, about STREAM_BUFFER_BYTES by default. */
const MAX_DEPTHS = 5000;
const DEPTH = /^([1-9]\d{0,2}|1000)$/;

export const ACCEPTED_TOPICS =
  "a list, separated by commas, of head, trades:BASE/QUOTE, market:BASE/QUOTE, summary:BASE/QUOTE, each of " +
  `these three also with * for all markets, candles:BASE/QUOTE:INTERVAL (${INTERVALS.join(", ")}) and ` +
  `book:BASE/QUOTE:DEPTH (1 to ${MAX_DEPTH})`;

/** Names every problem of the topics, and what is accepted. */
export class BadTopics extends ClientFacingError {
  constructor(problems: readonly string[]) {
    super(400, `topics must be ${ACCEPTED_TOPICS}; ${problems.join("; ")}`);
  }
}

/** Throws BadTopics. The parameter's text has been percent-decoded once. */
export function readTopics(texts: readonly string[]): AskedTopic[] {
  const [text] = texts;
  if (text === undefined) throw new BadTopics(["it is not given"]);
  if (texts.length > 1) throw new BadTopics(["it is given more than once"]);
  const problems: string[] = [];
  const topics = new Map<string, AskedTopic>();
  for (const part of text.split(",")) {
    const topic = readTopic(part);
    if (typeof topic === "string") problems.push(`${shown(part)} ${topic}`);
    else topics.set(topic.name, topic);
  }
  const depths = [...topics.values()].reduce((sum, topic) => sum + depthOf(topic), 0);
  if (depths > MAX_DEPTHS) {
    problems.push(`the depths of the books add up to ${depths}, and may be ${MAX_DEPTHS} in all`);
  }
  if (problems.length > 0) throw new BadTopics(problems);
  return [...topics.values()];
}

const depthOf = (topic: AskedTopic): number => (topic.pair === "*" ? 0 : (topic.depth ?? 0));

/** The topic, or what is wrong with it. */
function readTopic(text: string): AskedTopic | string {
  const [kind = "", market, argument, ...more] = text.split(":");
  if (!isKind(kind)) return "is no topic";
  if (kind === "head") return market === undefined ? topicOf(kind) : "has a market";
  if (more.length > 0) return "has too many parts";
  if (market === "*" && OF_ALL.includes(kind) && argument === undefined) {
    return { kind, name: text, pair: "*" };
  }
  const pair = readPairName(market ?? "");
  if (pair === undefined) return "has no market as BASE/QUOTE";
  if (kind === "candles") {
    const interval = INTERVALS.find((each) => each === argument);
    return interval === undefined
      ? `has no interval: ${INTERVALS.join(", ")}`
      : topicOf(kind, pair, { interval });
  }
  if (kind === "book") {
    return DEPTH.test(argument ?? "")
      ? topicOf(kind, pair, { depth: Number(argument) })
      : `has no depth from 1 to ${MAX_DEPTH}`;
  }
  return argument === undefined ? topicOf(kind, pair) : "has too many parts";
}

const isKind = (text: string): text is Kind => (KINDS as readonly string[]).includes(text);

export function topicOf(
  kind: Kind,
  pair?: PairName,
  { interval, depth }: Pick<Topic, "interval" | "depth"> = {},
): Topic {
  const market = pair && `${encoded(pair.base)}/${encoded(pair.quote)}`;
  const name = [kind, market, interval ?? depth].filter(Boolean).join(":");
  return { kind, name, pair, interval, depth };
}

/** The market of a topic as the keys of REST's lists have it. */
export const keyOf = ({ pair }: Topic): string =>
  pair === undefined ? "" : `${pair.base}/${pair.quote}`;

// A symbol may be any text, so within a topic it is percent-encoded where it has one of these.
const encoded = (symbol: string): string =>
  symbol.replaceAll(/[%/,:]/g, (letter) => encodeURIComponent(letter));

function readPairName(text: string): PairName | undefined {
  const parts = text.split("/");
  try {
    const [base = "", quote = ""] = parts.map((part) => decodeURIComponent(part));
    return parts.length === 2 && base !== "" && quote !== "" && !(base + quote).includes("\0")
      ? { base, quote }
      : undefined;
  } catch {
    return undefined;
  }
}

const SHOWN = 40;
export const shown = (text: string): string =>
  JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
