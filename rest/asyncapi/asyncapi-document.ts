// Makes the AsyncAPI 3 document of the event stream and of GraphQL's subscriptions from the declarations of the topics.
import { z } from "zod";
import { release } from "../../http/release.ts";
import type { TopicKind } from "../../market/live/topic.ts";
import { TOPIC_KINDS } from "../../market/live/topics.ts";
import { Schemas } from "../openapi/schemas.ts";
import { STREAM_PARAMETERS } from "../openapi/stream-parameters.ts";
import { streamEvents } from "../stream/event-schemas.ts";

const DESCRIPTION = `
What changes of an exchange's market data, by two transports that carry the same topics: server-sent events, and
subscriptions of GraphQL by WebSocket. Both go on behind the last event that a client has, at any process, and
take back what a reorganisation has made void.
`.trim();

/** Of the default PORT. A server of AsyncAPI cannot be relative, as one of OpenAPI. */
const SERVER = { host: "localhost:3000" };

/** The name of an event's message: its schema has it as its id. */
const idOf = (schema: z.ZodType): string => z.globalRegistry.get(schema)?.id ?? "";

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** As a client names it. */
export const topicText = ({ name, markets, argument }: TopicKind): string =>
  [name, ...(markets === "none" ? [] : ["BASE/QUOTE"]), ...(argument ? [argument.shown] : [])].join(
    ":",
  );

export const asyncapiDocument = (kinds: readonly TopicKind[] = TOPIC_KINDS): object =>
  JSON.parse(JSON.stringify(documentOf(kinds)), apart) as object;

/** The JSON Schema of AsyncAPI 3 ignores what stands beside a reference. */
function apart(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("$ref" in value)) return value;
  const { $ref, ...beside } = value;
  return Object.keys(beside).length === 0 ? value : { allOf: [{ $ref }], ...beside };
}

function documentOf(kinds: readonly TopicKind[]): object {
  const schemas = new Schemas();
  const events = streamEvents.map((event) => ({ id: idOf(event), schema: schemas.of(event) }));
  const topics = kinds.map((kind) => ({
    ...{ kind, id: `${capitalized(kind.name)}Topic` },
    schema: schemas.of(kind.schema),
  }));
  return {
    asyncapi: "3.0.0",
    info: {
      title: "DEX market data: live",
      version: release(),
      description: DESCRIPTION,
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    defaultContentType: "application/json",
    servers: {
      http: { ...SERVER, protocol: "http", description: "Server-sent events." },
      ws: { ...SERVER, protocol: "ws", description: "Subscriptions of GraphQL." },
    },
    channels: {
      stream: {
        address: "/v2/stream",
        servers: [ref("servers", "http")],
        title: "The event stream",
        description:
          "One stream for all topics of a client, which it names in the query. The name of a message is in the " +
          `event's \`event\`, its place in \`id\`. Topics: ${kinds.map((kind) => `\`${topicText(kind)}\``).join(", ")}.`,
        messages: Object.fromEntries(events.map(({ id }) => [id, ref("components/messages", id)])),
      },
      graphql: {
        address: "/graphql",
        servers: [ref("servers", "ws")],
        title: "Subscriptions of GraphQL",
        description:
          "The protocol graphql-transport-ws of graphql-ws. A client sends `subscribe` with an operation of one " +
          "field; each event of it is a `next` with what the operation selects.",
        messages: {
          Subscribe: ref("components/messages", "Subscribe"),
          ...Object.fromEntries(
            kinds.map(({ field }) => [field.event, ref("components/messages", field.event)]),
          ),
        },
        bindings: {
          ws: { method: "GET", headers: PROTOCOL_HEADER, bindingVersion: "0.1.0" },
        },
      },
    },
    operations: {
      follow: {
        action: "send",
        channel: ref("channels", "stream"),
        summary: "The events of the topics that a client follows",
        bindings: { http: { method: "GET", query: QUERY, bindingVersion: "0.3.0" } },
        messages: events.map(({ id }) => ref("channels/stream/messages", id)),
      },
      subscribe: {
        action: "receive",
        channel: ref("channels", "graphql"),
        summary: "A client begins a subscription",
        messages: [ref("channels/graphql/messages", "Subscribe")],
      },
      ...Object.fromEntries(
        kinds.map(({ field }) => [
          field.name,
          {
            action: "send",
            channel: ref("channels", "graphql"),
            summary: field.does,
            messages: [ref("channels/graphql/messages", field.event)],
          },
        ]),
      ),
    },
    components: {
      messages: {
        ...Object.fromEntries(
          events.map(({ id, schema }) => [id, { name: id, title: id, payload: schema }]),
        ),
        Subscribe: { name: "subscribe", title: "Subscribe", payload: SUBSCRIBE },
        ...Object.fromEntries(
          kinds.map(({ field }) => [
            field.event,
            { name: "next", title: field.event, summary: field.about, payload: nextOf(field) },
          ]),
        ),
      },
      schemas: {
        ...schemas.named,
        ...Object.fromEntries(topics.map(({ id, schema }) => [id, schema])),
      },
    },
  };
}

const ref = (kind: string, name: string): object => ({ $ref: `#/${kind}/${name}` });

const PROTOCOL_HEADER = {
  type: "object",
  properties: { "Sec-WebSocket-Protocol": { const: "graphql-transport-ws" } },
  required: ["Sec-WebSocket-Protocol"],
};

const inQuery = STREAM_PARAMETERS.filter((parameter) => parameter.in === "query");
const QUERY = {
  type: "object",
  properties: Object.fromEntries(
    inQuery.map(({ name, description, schema }) => [name, { ...schema, description }]),
  ),
  required: inQuery.filter(({ required }) => required).map(({ name }) => name),
};

const ID = { type: "string", description: "The client's id of the subscription." };

const SUBSCRIBE = {
  type: "object",
  properties: {
    id: ID,
    type: { const: "subscribe" },
    payload: {
      type: "object",
      properties: {
        query: { type: "string" },
        variables: { type: "object" },
        operationName: { type: "string" },
      },
      required: ["query"],
    },
  },
  required: ["id", "type", "payload"],
};

const nextOf = ({ name, event }: TopicKind["field"]): object => ({
  type: "object",
  properties: {
    id: ID,
    type: { const: "next" },
    payload: {
      type: "object",
      properties: {
        data: {
          type: "object",
          properties: {
            [name]: {
              type: "object",
              description: `What the operation selects of the type ${event} of the GraphQL schema.`,
            },
          },
          required: [name],
        },
      },
      required: ["data"],
    },
  },
  required: ["id", "type", "payload"],
});

/** The document with the service's public URL in place of the default address. */
export function asyncapiAt(text: string, publicUrl: string | undefined): string {
  if (publicUrl === undefined) return text;
  const { host, pathname, protocol } = new URL(publicUrl);
  const document = JSON.parse(text) as { servers: Record<string, object> };
  const suffix = protocol === "https:" ? "s" : "";
  for (const [name, server] of Object.entries(document.servers)) {
    const at = pathname === "/" ? { host } : { host, pathname };
    document.servers[name] = { ...server, ...at, protocol: `${name}${suffix}` };
  }
  return `${JSON.stringify(document, null, 2)}\n`;
}
