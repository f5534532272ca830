// Traces: spans of requests, operations and statements at a collector, and that no collector holds up the service.
import { randomBytes } from "node:crypto";
import { aTrade, write } from "../factories.ts";
import { useDatabase } from "../served.ts";
import { copyRepository } from "../repository-copy.ts";
import { PATIENT, runFile, startService, type Service } from "../service.ts";
import { Collector, type CollectedSpan } from "./collector.ts";

const PARENT = "b7ad6b7169203331";
const AN_HOUR = "3600000";

/** Of the running test: some share a service. */
let trace = "";
beforeEach(() => {
  trace = randomBytes(16).toString("hex");
});

const database = useDatabase();
const running: Service[] = [];
let traced: Traced;
const collectors: Collector[] = [];
beforeAll(async () => {
  await write(database.writer, { trades: [aTrade()] });
  traced = await startTraced({ OTEL_SERVICE_NAME: "market" });
});
afterAll(async () => {
  for (const service of running) {
    service.signal("SIGKILL");
    await service.ended;
  }
  for (const collector of collectors) await collector.close();
});

interface Traced {
  collector: Collector;
  service: Service;
  url: string;
}

async function startTraced(env: Record<string, string> = {}): Promise<Traced> {
  const collector = new Collector();
  collectors.push(collector);
  const service = startService({
    ...PATIENT,
    DATABASE_URL: database.url,
    CACHE_BYTES: "0",
    OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(),
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "10",
    ...env,
  });
  running.push(service);
  return { collector, service, url: await service.url };
}

const traceparent = (traceId: string, flags = "01") => ({
  traceparent: `00-${traceId}-${PARENT}-${flags}`,
});
const isOfRequest = ({ parentSpanId }: CollectedSpan): boolean => parentSpanId === PARENT;
const textOf = ({ attributes }: CollectedSpan): string => String(attributes["db.query.text"]);
/** A new connection has statements before, which check that it is the right server's. */
const isOfFigures = (span: CollectedSpan): boolean => textOf(span).includes("dex_price");
const childrenOf = (spans: CollectedSpan[], { spanId }: CollectedSpan): CollectedSpan[] =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId);
const ask = (url: string, query: string, headers: Record<string, string>): Promise<Response> =>
  fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify({ query }),
  });

it("sends a span of a request, one of its endpoint, and one of each statement", async () => {
  const { collector, service, url } = traced;

  const answer = await fetch(`${url}/v2/prices?x=1`, { headers: traceparent(trace) });
  await answer.arrayBuffer();
  const spans = await collector.trace(trace, isOfRequest);

  const request = spans.find(isOfRequest)!;
  const [endpoint, ...noOthers] = childrenOf(spans, request);
  const [statement, ...noMore] = childrenOf(spans, endpoint!).filter(isOfFigures);
  expect(request).toMatchObject({ name: "GET /v2/prices", kind: 2 });
  expect(request.attributes).toMatchObject({
    "http.request.method": "GET",
    "http.route": "/v2/prices",
    "http.response.status_code": 200,
    "dex.request_id": answer.headers.get("x-request-id"),
  });
  expect(noOthers).toEqual([]);
  expect(endpoint!.name).toMatch(/^v2 \w+/);
  expect([statement, noMore]).toMatchObject([{ name: "select", kind: 3 }, []]);
  expect(collector.resource).toMatchObject({ "service.name": "market" });
  expect(collector.asked.at(-1)).toMatchObject({ url: "/v1/traces", type: "application/json" });
  expect(answer.headers.get("server-timing")).toContain(
    `traceparent;desc="00-${trace}-${request.spanId}-01"`,
  );
  await service.printed(new RegExp(`"trace_id":"${trace}","span_id":"${request.spanId}"`));
});

it("sends a span of a GraphQL operation, and its statements below it", async () => {
  const { collector, url } = traced;

  await ask(url, "query Newest { allDexTrades(first: 1) { nodes { id } } }", traceparent(trace));
  const spans = await collector.trace(trace, isOfRequest);

  const [operation, ...noOthers] = childrenOf(spans, spans.find(isOfRequest)!);
  const texts = childrenOf(spans, operation!).map(textOf);
  expect(noOthers).toEqual([]);
  expect(operation).toMatchObject({ name: "query Newest" });
  expect(texts.filter((text) => text.includes("__dex_trade__"))).toHaveLength(1);
});

it("counts each statement to the request that asked for it, also where one waits for another's connection", async () => {
  const { collector, url } = await startTraced({ POOL_SIZE: "1" });
  const ids = Array.from({ length: 12 }, () => randomBytes(16).toString("hex"));

  // Every third one is not sampled.
  const flags = (n: number): string => (n % 3 === 0 ? "00" : "01");
  await Promise.all(
    ids.map((id, n) => fetch(`${url}/v2/prices`, { headers: traceparent(id, flags(n)) })),
  );

  const sampled = ids.filter((_, n) => flags(n) === "01");
  for (const id of sampled) {
    const spans = await collector.trace(id, isOfRequest);
    expect([id, spans.filter(isOfFigures).length]).toEqual([id, 1]);
  }
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set(sampled));
});

it("marks the span of a request that the service fails, and of its statement", async () => {
  const { collector, url } = await startTraced({ STATEMENT_TIMEOUT_MS: "100" });
  const holder = await database.connect("dex_owner");
  await holder.query("begin");
  await holder.query("lock table dex_private.market_figure");

  const answer = await fetch(`${url}/v2/prices`, { headers: traceparent(trace) });
  await holder.query("rollback");
  const spans = await collector.trace(trace, isOfRequest);

  expect(answer.status).toBe(503);
  const failed = spans.filter(({ status }) => status.code === 2);
  expect(failed).toHaveLength(3);
  expect(failed.find(isOfFigures)!.attributes["db.response.status_code"]).toBe("57014");
});

it("samples by OpenTelemetry's settings, and hands on the traceparent of what it does not sample", async () => {
  const { collector, service, url } = await startTraced({
    OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0",
  });
  const sampled = `ff${trace.slice(2)}`;

  const own = await fetch(`${url}/v2/prices`);
  const unsampled = await fetch(`${url}/v2/prices`, { headers: traceparent(trace, "00") });
  await fetch(`${url}/v2/prices`, { headers: traceparent(sampled) });
  await collector.trace(sampled, isOfRequest);

  expect(own.headers.get("server-timing")).not.toContain("traceparent");
  expect(unsampled.headers.get("server-timing")).toContain(`00-${trace}-${PARENT}-00`);
  await service.printed(new RegExp(`"trace_id":"${trace}","span_id":"${PARENT}"`));
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([sampled]));
});

it("asks no flag of strangers where the sampler goes by the id of the trace", async () => {
  const { collector, url } = await startTraced({
    OTEL_TRACES_SAMPLER: "traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "0.5",
  });
  // The ratio is of the exclusive or of the four parts of the id, here 0x7ffffffe and 0x80000001.
  const [below, above] = ["7fffffff", "80000000"].map((part) => part + "0".repeat(23) + "1");

  await fetch(`${url}/v2/prices`, { headers: traceparent(above!, "01") });
  await fetch(`${url}/v2/prices`, { headers: traceparent(below!, "00") });
  await collector.trace(below!, isOfRequest);

  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([below]));
});

it("begins another trace where the header is none, or comes twice", async () => {
  const { collector, url } = traced;
  const given = traceparent(trace).traceparent;
  for (const wrong of [
    given.slice(0, -3),
    given.replace(trace, "0".repeat(32)),
    `${given}, ${given}`,
  ]) {
    const answer = await fetch(`${url}/v2/prices`, { headers: { traceparent: wrong } });
    const [, traceId = ""] = /desc="00-([0-9a-f]{32})-/.exec(answer.headers.get("server-timing")!)!;
    expect(traceId).not.toBe(trace);
    const spans = await collector.trace(traceId, ({ kind }) => kind === 2);
    expect(spans.find(({ kind }) => kind === 2)!.parentSpanId ?? "").toBe("");
  }
});

describe("A collector gets protobuf by default, and holds up neither an answer nor the stop where it", () => {
  const BROKEN: [string, (collector: Collector) => unknown][] = [
    ["is away", (collector) => collector.close()],
    ["never answers", (collector) => (collector.answer = () => undefined)],
    [
      "answers without end",
      (collector) =>
        (collector.answer = (res) => {
          const timer = setInterval(() => res.write(" "), 20);
          res.on("close", () => clearInterval(timer));
        }),
    ],
  ];
  it.each(BROKEN)("%s", async (_, breakIt) => {
    const { collector, service, url } = await startTraced({
      OTEL_EXPORTER_OTLP_PROTOCOL: "",
      OTEL_EXPORTER_OTLP_TIMEOUT: AN_HOUR,
      OTEL_BSP_EXPORT_TIMEOUT: AN_HOUR,
      OTEL_BSP_MAX_QUEUE_SIZE: "50",
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "10",
    });
    await breakIt(collector);

    // 3 spans each: 300, where 50 wait.
    for (let n = 0; n < 100; n++) {
      const answer = await fetch(`${url}/v2/prices`);
      expect([answer.status, await answer.json()]).toMatchObject([200, { message: "success" }]);
    }
    service.signal("SIGTERM");

    // An export would take an hour.
    expect(await service.ended).toMatchObject({ code: 0, stderr: "" });
    for (const { type } of collector.asked) expect(type).toBe("application/x-protobuf");
  });
});

it("logs once that the collector takes nothing, and once that it does again", async () => {
  const { collector, service, url } = traced;
  collector.answer = (res) => void res.writeHead(400).end();
  await fetch(`${url}/v2/prices`);
  await service.printed(/The collector of traces takes no spans: Bad Request/);
  await fetch(`${url}/v2/volumes`);
  await fetch(`${url}/v2/volumes`);
  collector.answer = (res) => void res.end("{}");
  while (!service.output().includes("takes spans again")) {
    await fetch(`${url}/v2/volumes`);
  }
  expect(service.output().match(/takes no spans/g)).toHaveLength(1);
});

it("refuses a wrong setting at the start, and says what is accepted", async () => {
  const WRONG: [string, string, string][] = [
    [
      "OTEL_EXPORTER_OTLP_ENDPOINT",
      "collector:4318",
      "a URL such as http://127.0.0.1:4318, http or https",
    ],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "`http/protobuf` or `http/json`"],
    ["OTEL_TRACES_SAMPLER", "jaeger_remote", "`parentbased_traceidratio`"],
    ["OTEL_TRACES_SAMPLER_ARG", "2", "a number from 0 (none) to 1 (all), such as 0.01"],
  ];
  const ended = await startService(Object.fromEntries(WRONG.map(([name, value]) => [name, value])))
    .ended;
  expect(ended.code).toBe(1);
  for (const [name, , accepted] of WRONG) {
    expect(ended.stderr).toMatch(new RegExp(`^${name}: .* is not `, "m"));
    expect(ended.stderr).toContain(accepted);
  }
});

it("names the command that installs its packages, where they are missing", async () => {
  const copy = await copyRepository();
  try {
    const env = { PORT: "0", DATABASE_URL: database.url };
    const ended = await runFile(
      "server/main.ts",
      { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" },
      [],
      copy.folder,
    ).ended;
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("`npm ci --prefix traces`"),
    });

    // Nothing of them is loaded without the setting.
    const untraced = runFile("server/main.ts", env, [], copy.folder);
    running.push(untraced);
    const answer = await fetch(`${await untraced.url}/v2/prices`, { headers: traceparent(trace) });
    expect(answer.headers.get("server-timing")).not.toContain("traceparent");
    expect(untraced.output()).not.toContain("trace_id");
  } finally {
    await copy.remove();
  }
});
