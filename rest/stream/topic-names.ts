// The topics of a stream: reads their names, and says what is wrong with them.
import { ClientFacingError } from "../../http/errors.ts";
import type { AskedTopic } from "../../market/live/asked-topics.ts";
import { topicOf, type TopicKind } from "../../market/live/topic.ts";
import { TOPIC_KINDS } from "../../market/live/topics.ts";
import type { PairName } from "../../market/queries/snapshot.ts";

/** Of all books of a stream: its first event has twice as many levels, about STREAM_BUFFER_BYTES by default. */
const MAX_DEPTHS = 5000;

const COUNTS = ["none", "this one", "each of these two", "each of these three"];

export const acceptedTopics = (): string => {
  const ofAll = TOPIC_KINDS.filter(({ markets }) => markets === "one or all");
  const names = [
    ...TOPIC_KINDS.filter(({ markets }) => markets === "none").map(({ name }) => name),
    ...ofAll.map(({ name }) => `${name}:BASE/QUOTE`),
    `${COUNTS[ofAll.length] ?? "each of these"} also with * for all markets`,
    ...TOPIC_KINDS.filter(({ markets }) => markets === "one").map(({ name, argument }) =>
      argument === undefined
        ? `${name}:BASE/QUOTE`
        : `${name}:BASE/QUOTE:${argument.shown} (${argument.accepted})`,
    ),
  ];
  return `a list, separated by commas, of ${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
};

/** Names every problem of the topics, and what is accepted. */
export class BadTopics extends ClientFacingError {
  constructor(problems: readonly string[]) {
    super(400, `topics must be ${acceptedTopics()}; ${problems.join("; ")}`);
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

const depthOf = (topic: AskedTopic): number =>
  topic.pair !== "*" && typeof topic.argument === "number" ? topic.argument : 0;

/** The topic, or what is wrong with it. */
function readTopic(text: string): AskedTopic | string {
  const [name, market, argument, ...more] = text.split(":");
  const kind = TOPIC_KINDS.find((each) => each.name === name);
  if (kind === undefined) return "is no topic";
  if (kind.markets === "none") return market === undefined ? topicOf(kind) : "has a market";
  if (more.length > 0) return "has too many parts";
  if (market === "*" && kind.markets === "one or all" && argument === undefined) {
    return { kind, name: text, pair: "*" };
  }
  const pair = readPairName(market ?? "");
  return pair === undefined ? "has no market as BASE/QUOTE" : ofMarket(kind, pair, argument);
}

function ofMarket(kind: TopicKind, pair: PairName, text: string | undefined): AskedTopic | string {
  if (kind.argument === undefined) {
    return text === undefined ? topicOf(kind, pair) : "has too many parts";
  }
  const argument = kind.argument.read(text ?? "");
  return argument === undefined ? kind.argument.problem : topicOf(kind, pair, argument);
}

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
