// The examples of the OpenAPI document: real answers, of the exchange in ../exchange.ts.
import { createConnection } from "node:net";
import { text } from "node:stream/consumers";
import type { Pool } from "../../../db/connect.ts";
import { answersOf, type Examples } from "../../../rest/openapi/openapi-document.ts";
import { failureName } from "../../../rest/openapi/references.ts";
import { failures } from "../../../rest/openapi/error-responses.ts";
import { ApiKeys } from "../../../http/keys/api-keys.ts";
import { HTTP_BOUNDS } from "../../../http/http-server.ts";
import { makeTestApp, type TestApp } from "../../app.ts";
import { exchange, type Asked, type Received } from "../../exchange-http.ts";

/** What the examples read of the document. */
export interface OpenapiDocument {
  paths: Record<string, { get: Operation }>;
}

interface Operation {
  operationId: string;
  parameters?: {
    name: string;
    in: "path" | "query";
    required?: boolean;
    example: string | number;
  }[];
}

/** An operation's path with the examples of its parameters; without its query string, of required ones. */
export function exampleOf(
  template: string,
  { parameters = [] }: Operation,
  { withQuery }: { withQuery: boolean },
): string {
  const exampleNamed = (name: string) =>
    String(parameters.find((parameter) => parameter.name === name)?.example);
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => exampleNamed(name));
  const query = parameters.filter(
    ({ in: place, required }) => place === "query" && (withQuery || required),
  );
  if (query.length === 0) return path;
  return `${path}?${query.map(({ name }) => `${name}=${exampleNamed(name)}`).join("&")}`;
}

/** The stream has no end, and files need a folder: stream.test.ts and files.test.ts compare them with the document. */
export const hasExamples = (template: string): boolean => !/^\/v2\/(stream|files)\b/.test(template);

/** Every example, of a database with that exchange. */
export async function askExamples(pool: Pool, { paths }: OpenapiDocument): Promise<Examples> {
  const service = await ExampleService.start(pool);
  const examples: Examples = {};
  const keep = (name: string, summary: string, value: unknown): void => {
    examples[name] = { ...examples[name], [summary]: value };
  };
  try {
    for (const [template, { get }] of Object.entries(paths)) {
      if (!hasExamples(template)) continue;
      for (const withQuery of [false, true]) {
        const path = exampleOf(template, get, { withQuery });
        keep(answersOf(get.operationId, 200), `GET ${path}`, await service.bodyOf({ path }));
      }
    }
    for (const version of ["v1", "v2", "udf"]) {
      for (const { status, name } of failures) {
        for (const [summary, fail] of Object.entries(FAILURES[status] ?? {})) {
          const body = await fail(service, version);
          if (body !== undefined)
            keep(answersOf(failureName(version, name), status), summary, body);
        }
      }
    }
    const isNotReady = await service.failing(CANNOT_CONNECT, { path: "/ready" });
    keep(answersOf("ready", 503), "The database cannot be reached", isNotReady);
    return examples;
  } finally {
    await service.close();
  }
}

type Fail = (service: ExampleService, version: string) => unknown;

const CANNOT_CONNECT = Object.assign(new Error("connect"), { syscall: "connect" });

/** A path of each version that takes no parameters. */
const LISTED: Record<string, string> = { v1: "prices", v2: "prices", udf: "search" };

/** How each failure comes about, by what is said of it; version 1 has no parameters. */
const FAILURES: Record<number, Record<string, Fail>> = {
  400: {
    "An unknown pair": (service, version) =>
      service.bodyOf({
        path: version === "udf" ? "/udf/symbols?symbol=DAI/WETH" : `/${version}/prices/dai/weth`,
      }),
    "A parameter that is not what it must be": (service, version) =>
      version === "v1"
        ? undefined
        : service.bodyOf({
            path: version === "udf" ? "/udf/search?limit=5000" : "/v2/trades/weth/dai?limit=5000",
          }),
    "Broken percent-encoding": (service, version) =>
      service.bodyOf({ path: `/${version}/${LISTED[version]}/%ZZ/dai` }),
    "Too many parameters": (service, version) =>
      service.bodyOf({ path: `/${version}/${LISTED[version]}?${"a&".repeat(50)}` }),
  },
  401: {
    "An unknown key": (service, version) =>
      service.bodyOf({
        path: `/${version}/${LISTED[version]}`,
        headers: { Authorization: "Bearer a-key-that-is-unknown" },
      }),
  },
  404: {
    "An unknown path": (service, version) => service.bodyOf({ path: `/${version}/nowhere` }),
  },
  405: {
    "Another method": (service, version) =>
      service.bodyOf({ method: "POST", path: `/${version}/${LISTED[version]}` }),
  },
  414: {
    "A long path": (service, version) =>
      service.bodyOf({ path: `/${version}/${LISTED[version]}/${"a".repeat(2560)}/dai` }),
    "A long query string": (service, version) =>
      service.bodyOf({ path: `/${version}/${LISTED[version]}?${"a".repeat(2049)}` }),
  },
  417: {
    "An expectation": (service, version) =>
      service.bodyOf({ path: `/${version}/${LISTED[version]}`, headers: { Expect: "wonders" } }),
  },
  429: {
    "Too many requests": (service, version) =>
      service.askTooOften(`/${version}/${LISTED[version]}`),
  },
  500: {
    "A fault of the service's own": (service, version) =>
      service.failing(new Error("a fault"), { path: `/${version}/${LISTED[version]}` }),
  },
  501: {
    "Another transfer coding": (service, version) =>
      service.bodyAfter(
        `GET /${version}/${LISTED[version]}`,
        "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
      ),
  },
  503: {
    "The database cannot be reached": (service, version) =>
      service.failing(CANNOT_CONNECT, { path: `/${version}/${LISTED[version]}` }),
  },
};

const PER_MINUTE = 2;

/** A service that has seen the head, and whose database can be made to fail. */
class ExampleService {
  readonly #app: TestApp;
  readonly #failWith: (error: Error | undefined) => void;
  #clients = 0;

  private constructor(app: TestApp, failWith: (error: Error | undefined) => void) {
    this.#app = app;
    this.#failWith = failWith;
  }

  static async start(pool: Pool): Promise<ExampleService> {
    let failure: Error | undefined;
    const failing = Object.create(pool, {
      query: {
        value: (...args: unknown[]) =>
          failure
            ? Promise.reject(failure)
            : (pool.query as (...args: unknown[]) => unknown).apply(pool, args),
      },
    }) as Pool;
    const app = await makeTestApp(failing, {
      cache: "off",
      http: { ...HTTP_BOUNDS, headersTimeoutMs: 1000 },
      rateLimit: PER_MINUTE,
      trustedProxies: 1,
      keys: new ApiKeys([]),
    });
    await exchange(app.url, { path: "/v2/prices" });
    return new ExampleService(app, (error) => (failure = error));
  }

  async bodyOf(asked: Asked): Promise<unknown> {
    const { body, headers } = await this.#ask(this.#newClient(), asked);
    const isJson = !headers.some((value) => value.startsWith("text/plain"));
    return isJson ? JSON.parse(body.toString()) : body.toString();
  }

  /** The answer to a request that goes on with these bytes, after which nothing comes. */
  async bodyAfter(asked: string, rest: string): Promise<unknown> {
    const socket = createConnection(Number(new URL(this.#app.url).port), "127.0.0.1");
    socket.write(
      `${asked} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: ${this.#newClient()}\r\n${rest}`,
    );
    const [, body = ""] = (await text(socket)).split("\r\n\r\n");
    return JSON.parse(body);
  }

  /** The answer while every statement fails so. */
  async failing(error: Error, asked: Asked): Promise<unknown> {
    this.#failWith(error);
    const body = await this.bodyOf(asked);
    this.#failWith(undefined);
    return body;
  }

  /** The answer to a client that asks once too often, with all of the minute left. */
  async askTooOften(path: string): Promise<unknown> {
    for (;;) {
      const client = this.#newClient();
      const answers = await Promise.all(
        Array.from({ length: PER_MINUTE + 1 }, () => this.#ask(client, { path })),
      );
      const refused = answers.find(({ status }) => status === 429)!;
      // On a busy machine a second may pass between two of them.
      if (refused.headers[refused.headers.indexOf("Retry-After") + 1] === "60") {
        return JSON.parse(refused.body.toString());
      }
    }
  }

  /** The address of a client that has not asked yet. */
  #newClient(): string {
    this.#clients += 1;
    return `198.18.${this.#clients >> 8}.${this.#clients & 255}`;
  }

  #ask(client: string, { headers, ...asked }: Asked): Promise<Received> {
    return exchange(this.#app.url, {
      ...asked,
      headers: { ...headers, "X-Forwarded-For": client },
    });
  }

  close(): Promise<void> {
    return this.#app.close();
  }
}
