// The AsyncAPI document as it is tracked and served: every topic and every event, as they are declared; and /llms.txt.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { asyncapiDocument } from "../../../rest/asyncapi/asyncapi-document.ts";
import { described } from "../../../rest/openapi/openapi-document.ts";
import { streamEvents } from "../../../rest/stream/event-schemas.ts";
import { TOPIC_KINDS } from "../../../market/live/topics.ts";
import { makeTestApp } from "../../app.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { serveDatabase } from "../../served.ts";
import { followStream } from "../../stream-client.ts";

const TRACKED = fileURLToPath(new URL("../../../rest/asyncapi/asyncapi.json", import.meta.url));

interface AsyncapiDocument {
  servers: Record<string, { host: string; pathname?: string; protocol: string }>;
  channels: Record<"stream" | "graphql", { address: string; messages: object }>;
  operations: Record<string, { action: string; summary: string }>;
  components: { messages: Record<string, { payload: object }>; schemas: Record<string, object> };
}

const document = asyncapiDocument() as AsyncapiDocument;
const { app, database } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade()] });
});

it("is the document that is tracked and served", async () => {
  const printed = `${JSON.stringify(document, null, 2)}\n`;
  if (process.env["WRITE_ASYNCAPI"] !== undefined) await writeFile(TRACKED, printed);
  expect(printed).toBe(await readFile(TRACKED, "utf8"));
  const { headers, text } = await app.request.get("/asyncapi.json");
  expect(headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(text).toBe(printed);
});

it("has every event of the stream, and a subscription for every topic", () => {
  const { stream, graphql } = document.channels;
  expect(Object.keys(stream.messages)).toHaveLength(streamEvents.length);
  const events = TOPIC_KINDS.map(({ field }) => field.event);
  expect(Object.keys(graphql.messages)).toEqual(["Subscribe", ...events]);
  expect(Object.keys(document.operations)).toEqual([
    ...["follow", "subscribe"],
    ...TOPIC_KINDS.map(({ field }) => field.name),
  ]);
});

it("resolves each of its references", () => {
  const text = JSON.stringify(document);
  const named = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(20);
  for (const path of named) {
    const found = path
      .split("/")
      .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document);
    expect([path, typeof found]).toEqual([path, "object"]);
  }
});

it("describes the events that a stream has", async () => {
  // Of draft 7, as AsyncAPI 3.
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const { messages, schemas } = document.components;
  const client = await followStream(
    `${app.url}/v2/stream?topics=head,trades:*,book:WETH/DAI:5,candles:WETH/DAI:1h,summary:*`,
  );
  await client.next();
  await write(database.writer, { trades: [aTrade({ hour: 2 })] });
  const event = await client.next();
  client.close();
  expect(Object.keys(event?.data.topics ?? {})).toContain("trades:WETH/DAI");
  const isRight = ajv.compile({
    ...messages["StreamUpdate"]!.payload,
    components: { schemas },
  });
  expect([isRight(event), isRight.errors]).toEqual([true, null]);
  expect(isRight({ ...event, data: { ...event?.data, block: "1" } })).toBe(false);
});

it("has the public URL of the service as its servers, where that is set", async () => {
  const publicUrl = "https://api.example/dex";
  await using there = await makeTestApp(database.reader, { publicUrl });
  const { body } = await there.request.get("/asyncapi.json");
  expect((body as AsyncapiDocument).servers).toMatchObject({
    http: { host: "api.example", pathname: "/dex", protocol: "https" },
    ws: { host: "api.example", pathname: "/dex", protocol: "wss" },
  });
  const { text } = await there.request.get("/llms.txt");
  expect(text).toContain("](https://api.example/dex/openapi.json)");
});

it("is beside a text for assistants, with every path, parameter and topic", async () => {
  const { status, headers, text } = await app.request.get("/llms.txt").buffer(true);
  expect([status, headers["content-type"]]).toEqual([200, "text/markdown; charset=utf-8"]);
  expect(text).toMatch(/^# DEX market data\n\n> /);
  for (const { name, endpoints } of described) {
    for (const { path, query = {} } of endpoints) {
      expect(text).toContain(`GET /${name}${path.replaceAll(/:(\w+)/g, "{$1}")}\``);
      for (const parameter of Object.keys(query)) expect(text).toContain(`  - \`${parameter}\``);
    }
  }
  for (const { field } of TOPIC_KINDS) expect(text).toContain(`\`${field.name}\``);
  const sdl = await readFile(new URL("../../../graphql/schema.graphql", import.meta.url), "utf8");
  const graphql = text.split("## GraphQL")[1]!;
  for (const [, name] of graphql.matchAll(/`((?:dex|allDex)\w+)`/g)) {
    expect(sdl).toMatch(new RegExp(`^  ${name}\\b`, "m"));
  }
});
