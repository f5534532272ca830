// Spans of the statements that a pool runs for requests.
import { SpanKind, SpanStatusCode, type Span, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool, PooledClient } from "../db/connect.ts";
import { sampledTrace } from "./request-spans.ts";

type Query = (config: unknown, values?: unknown, done?: unknown) => unknown;
type Done = (error: Error | null, result?: unknown) => void;
type Connected = NonNullable<Parameters<Pool["connect"]>[0]>;

export function followStatements(pool: Pool, tracer: Tracer): void {
  const connect = pool.connect.bind(pool) as (connected?: Connected) => unknown;
  // Whoever gives a connection back calls the next one that waits for it: not as its own request.
  const bound = (connected?: Connected): unknown =>
    connect(connected && AsyncLocalStorage.bind(connected));
  // One function implements both overloads, promise and callback.
  pool.connect = bound as Pool["connect"];
  pool.on("connect", (client) => followClient(client, tracer));
}

function followClient(client: PooledClient, tracer: Tracer): void {
  const query = client.query.bind(client) as Query;
  const followed: Query = (config, values, done) => {
    const context = sampledTrace()?.context;
    const text = textOf(config);
    if (context === undefined || text === undefined) return query(config, values, done);
    const [verb = ""] = /^\w+/.exec(text.trimStart()) ?? [];
    const attributes = { "db.system.name": "postgresql", "db.query.text": text };
    const span = tracer.startSpan(verb, { kind: SpanKind.CLIENT, attributes }, context);
    if (typeof values === "function") return query(config, ended(span, values as Done));
    if (typeof done === "function") return query(config, values, ended(span, done as Done));
    return (query(config, values) as Promise<unknown>).then(
      (result) => {
        span.end();
        return result;
      },
      (error: unknown) => {
        fail(span, error);
        throw error;
      },
    );
  };
  // One function implements all overloads.
  client.query = followed as PooledClient["query"];
}

/** Every value is bound, so the text has none of a client's. Undefined for a query object, such as COPY. */
function textOf(config: unknown): string | undefined {
  if (typeof config === "string") return config;
  const { text, submit } = config as { text?: unknown; submit?: unknown };
  return typeof text === "string" && submit === undefined ? text : undefined;
}

const ended =
  (span: Span, done: Done): Done =>
  (error, result) => {
    if (error == null) span.end();
    else fail(span, error);
    done(error, result);
  };

function fail(span: Span, error: unknown): void {
  const { code } = error as { code?: unknown };
  if (typeof code === "string") span.setAttribute("db.response.status_code", code);
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
