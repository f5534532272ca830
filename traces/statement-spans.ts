// Spans of the statements that a pool runs for sampled requests.
import { SpanKind, SpanStatusCode, type Span, type Tracer } from "@opentelemetry/api";
import type { Connected, Pool, PooledClient } from "../db/connect.ts";
import { sampledTrace, type RequestTrace } from "./request-spans.ts";

type Query = (config: unknown, values?: unknown, done?: unknown) => unknown;
type Done = (error: Error | null, result?: unknown) => void;

/** A request that is not sampled gets a connection as without traces. */
export function followStatements(pool: Pool, tracer: Tracer): void {
  const connect = pool.connect.bind(pool) as (connected?: Connected) => unknown;
  const plain = new WeakMap<PooledClient, Query>();
  const follow = (client: PooledClient, requestTrace: RequestTrace): void => {
    plain.set(client, (client as unknown as { query: Query }).query);
    followClient(client, requestTrace, tracer);
  };
  const followed = (connected?: Connected): unknown => {
    // Not when it has the connection: whoever gives that back calls the next one that waits for it, as its own request.
    const requestTrace = sampledTrace();
    if (requestTrace === undefined) return connect(connected);
    if (connected !== undefined) {
      return connect((error, client, done) => {
        if (client !== undefined) follow(client, requestTrace);
        connected(error, client, done);
      });
    }
    return (connect() as Promise<PooledClient>).then((client) => {
      follow(client, requestTrace);
      return client;
    });
  };
  // One function implements both overloads, promise and callback.
  pool.connect = followed as Pool["connect"];
  pool.on("release", (_error, client) => {
    const query = plain.get(client);
    if (query === undefined) return;
    client.query = query as PooledClient["query"];
    plain.delete(client);
  });
}

function followClient(client: PooledClient, requestTrace: RequestTrace, tracer: Tracer): void {
  const query = client.query.bind(client) as Query;
  const followed: Query = (config, values, done) => {
    const text = textOf(config);
    if (text === undefined) return query(config, values, done);
    const [verb = ""] = /^\w+/.exec(text.trimStart()) ?? [];
    const attributes = { "db.system.name": "postgresql", "db.query.text": text };
    const span = tracer.startSpan(
      verb,
      { kind: SpanKind.CLIENT, attributes },
      requestTrace.context,
    );
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
