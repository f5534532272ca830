// /llms.txt: the reference as one Markdown text for programs that read rather than click, by https://llmstxt.org.
import type { TopicKind } from "../../market/live/topic.ts";
import { TOPIC_KINDS } from "../../market/live/topics.ts";
import { topicText } from "../asyncapi/asyncapi-document.ts";
import { namesPair, type Endpoint, type Version } from "../endpoint.ts";

const INTRODUCTION = `# DEX market data

> The market data of a decentralized exchange, read-only and without a login: prices, volumes, order books, candles and every
> trade, exact to 18 fractional digits, by REST, GraphQL, server-sent events and WebSocket.

- Every decimal number is a string: do not parse it as a float.
- Every answer is of one block, the head of the exchange, and \`X-Head-Block\` names it. With \`block\`, \`time\` or \`hash\` a REST
  answer is as of a past block; in GraphQL by the directive \`@asOf\`.
- A pair is BASE/QUOTE, such as WETH/DAI; in a path two segments in any letter case. List the pairs by \`/v1/markets/\` before
  you guess one.
- 429 and 503 have \`Retry-After\`. Every error says what was wrong and what is accepted.
- Send \`If-None-Match\` with the \`ETag\` of the answer before: 304 has no body.`;

const GRAPHQL = `## GraphQL

POST \`/graphql\` with \`{"query": …, "variables": …}\` in JSON. The schema has descriptions: ask for it by introspection, or open
\`/graphiql\`. Lists are connections with \`nodes\`, \`edges\`, \`pageInfo\` and \`totalCount\`, and take \`first\`, \`after\`, \`orderBy\`,
\`condition\` and \`filter\`. \`allDexTrades\` is the whole history:

\`\`\`graphql
{
  allDexTrades(first: 100, orderBy: [TIME_DESC, IDX_DESC], condition: { market: "WETHDAI" }) {
    nodes { id time act price lotAmt bidAmt maker taker tx }
    pageInfo { endCursor hasNextPage }
  }
}
\`\`\`

The root fields \`dexMarket\`, \`allDexPrices\`, \`dexBook\`, \`dexCandles\`, \`dexOffer\` and \`dexHead\` have the rest.`;

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

function endpointText({ name }: Version, { path, summary, query = {}, description }: Endpoint) {
  const address = `/${name}${path.replaceAll(/:(\w+)/g, "{$1}")}`;
  const parameters = Object.entries(query).map(
    ([parameter, declared]) =>
      `  - \`${parameter}\`${declared.required ? " (required)" : ""}: ${oneLine(declared.description)} Must be ${declared.accepted}.`,
  );
  return [`- \`GET ${address}\`: ${summary}. ${oneLine(description)}`, ...parameters].join("\n");
}

const versionText = (version: Version): string =>
  [
    `## REST: /${version.name}`,
    oneLine(version.description),
    [...version.endpoints]
      .sort((one, other) => Number(namesPair(one.path)) - Number(namesPair(other.path)))
      .map((endpoint) => endpointText(version, endpoint))
      .join("\n"),
  ].join("\n\n");

const topicLine = (kind: TopicKind): string =>
  `- \`${topicText(kind)}\`, as a subscription \`${kind.field.name}\`: ${kind.field.does}`;

const live = (): string => `## Live

\`GET /v2/stream?topics=head,trades:WETH/DAI\` is a stream of server-sent events; a client that comes back with \`Last-Event-ID\`
misses nothing. The same topics are subscriptions of GraphQL at \`/graphql\` by the protocol graphql-transport-ws.

${TOPIC_KINDS.map(topicLine).join("\n")}`;

/** Links are absolute where the service knows its address. */
export const llmsText = (versions: readonly Version[], publicUrl = ""): string =>
  [
    INTRODUCTION,
    `## Descriptions for programs

- [OpenAPI](${publicUrl}/openapi.json): every path of REST with its parameters, answers and errors
- [AsyncAPI](${publicUrl}/asyncapi.json): the event stream and the subscriptions
- [Reference](${publicUrl}/docs): REST, to read and try in a browser`,
    ...versions.map(versionText),
    live(),
    GRAPHQL,
  ].join("\n\n") + "\n";
