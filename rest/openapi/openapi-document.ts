// Makes the OpenAPI 3.1 document from the declarations of the endpoints.
import type { z } from "zod";
import { streamEvents } from "../stream/event-schemas.ts";
import { health, type HealthPath } from "../../http/health.ts";
import type { Envelope } from "../../http/envelope.ts";
import { release } from "../../http/release.ts";
import { namesPair, type Endpoint, type Version } from "../endpoint.ts";
import { pairInPath } from "../../http/paths.ts";
import { STREAM_PARAMETERS } from "./stream-parameters.ts";
import { AS_OF, type Parameter } from "../params.ts";
import { isInPath } from "../question.ts";
import { LISTING_SETTINGS, listingFormats } from "../listings/formats.ts";
import { v1 } from "../v1/v1-endpoints.ts";
import { v2 } from "../v2/v2-endpoints.ts";
import { failures } from "./error-responses.ts";
import { fileOperations } from "./file-operations.ts";
import { headers, OF_ANY_ORIGIN, OF_A_FIGURE, OF_THE_REQUEST } from "./headers.ts";
import { failureName, failureRefs, ref, refs } from "./references.ts";
import { Schemas } from "./schemas.ts";

/** Real answers, by `answersOf` and then by a description. */
export type Examples = Record<string, Record<string, unknown>>;

export const answersOf = (operationId: string, status: number): string =>
  `${operationId} ${status}`;

const DESCRIPTION = `
The market data of a decentralized exchange, open and read-only: prices, volumes, books and trades of
its markets, exact to the last of 18 fractional digits.

- Figures are **as of the exchange's head**: the last block written, or the database's clock where none
  ever was. \`time\` is that moment. With \`block\`, \`time\` or \`hash\` every answer is as of a past block, but for what
  has no history: symbols, names, decimals, and which pairs are registered.
- Decimals are strings, since a binary float does not hold them.
- A pair is a base and a quote token, in one direction. Symbols match in any case; other letters than
  ASCII, and slashes, are percent-encoded. The rest of a path is lower-case.
- Each path works with and without a slash at its end. HEAD gives the headers of GET, and OPTIONS
  \`Allow\`. Parameters that a path does not know are ignored; one that it knows, in another letter case, is 400.
- Nothing is negotiated but the compression: answers are JSON, and plain text at \`/udf/time\`, whatever
  \`Accept\` says.
- Errors are in the envelope of the version that is asked; below \`/udf\`, in TradingView's; else in that
  of v2. They say what was wrong, and what is accepted.
- What is not HTTP/1.1, or does not arrive in time, is answered 400, 408, 413 or 431 without a body.
- For browsers, answers also have \`Content-Security-Policy\`, \`X-Content-Type-Options\`,
  \`Referrer-Policy\` and \`Cross-Origin-Resource-Policy\`.
- GraphQL, at \`/graphql\`, describes itself; \`/metrics\`, where it is given, is Prometheus's.
`.trim();

/** What is described, with the default names of the listing formats. */
export const described = [v1, v2, ...listingFormats(LISTING_SETTINGS)];

/** Versions whose failures others have too. */
const failing = [
  ...new Map(described.map((version) => [version.envelope.failures, version.envelope])).values(),
];

const MIN_BLOCK = {
  name: "X-Min-Block",
  in: "header",
  required: false,
  description:
    "The highest block that the client has seen, as `X-Head-Block` names it: the answer is of that block or a " +
    "later one, from whichever replica, else 503. The service waits for the block for a moment.",
  schema: { type: "integer", minimum: 0, maximum: 2147483647 },
};

const API_KEY = {
  type: "http",
  scheme: "bearer",
  description:
    "A key of the operator, where there are any: with higher limits, and for the same data.",
};

/** Statuses of /health and /ready beside their own. */
const OF_A_PLAIN_PATH = [400, 405, 414, 417, 500, 501];

export function openapiDocument(examples: Examples): object {
  const parts = new Parts(examples);
  return {
    openapi: "3.1.1",
    info: {
      title: "DEX market data",
      version: release(),
      summary: "Prices, volumes, books and trades of a decentralized exchange.",
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The service that this document is from." }],
    // Without a key as well.
    security: [{}, { ApiKey: [] }],
    tags: [
      ...described.map(({ name, description }) => ({ name, description })),
      { name: "service", description: "For whoever supervises the process. Not limited in rate." },
    ],
    paths: {
      ...Object.fromEntries(
        described.flatMap((version) =>
          version.endpoints.map((endpoint) => [
            `/${version.name}${endpoint.path.replaceAll(/:(\w+)/g, "{$1}")}`,
            { get: parts.operation(version, endpoint) },
          ]),
        ),
      ),
      "/v2/stream": { get: parts.streamOperation() },
      ...fileOperations((schema) => parts.schemas.of(schema)),
      ...Object.fromEntries(
        health.map((path) => [path.path, { get: parts.healthOperation(path) }]),
      ),
    },
    components: {
      securitySchemes: { ApiKey: API_KEY },
      responses: {
        ...Object.fromEntries(failing.flatMap((envelope) => parts.failuresOf(envelope))),
        NotModified: {
          description: "The client has this answer: `If-None-Match` gives its tag.",
          headers: refs("headers", OF_A_FIGURE),
        },
      },
      headers,
      parameters: {
        ...Object.fromEntries(
          Object.entries(AS_OF).map(([name, declared]) => [
            asOfName(name),
            parts.parameter(name, declared as Parameter<unknown>),
          ]),
        ),
        MinBlock: MIN_BLOCK,
      },
      schemas: parts.schemas.named,
    },
  };
}

class Parts {
  readonly schemas = new Schemas();
  readonly #examples: Examples;

  constructor(examples: Examples) {
    this.#examples = examples;
  }

  operation({ name, envelope, endpoints }: Version, endpoint: Endpoint): object {
    const { id, path, summary, description, query = {}, data, type } = endpoint;
    const { isDigested, isOfHead = false } = endpoint;
    const ofDigested = isDigested === true ? (["Content-Digest"] as const) : [];
    // What the path names can be empty. A version without one has its 404 on every path.
    const isToldOf404 = path.includes("/:") || !endpoints.some((other) => namesPair(other.path));
    return {
      operationId: id,
      tags: [name],
      summary,
      description,
      parameters: [
        ...(namesPair(path) ? this.#pairParameters() : []),
        ...Object.entries(query).map(([parameter, declared]) =>
          this.parameter(parameter, declared, isInPath(path, parameter)),
        ),
        ...Object.keys(isOfHead ? {} : AS_OF).map((name) => ref("parameters", asOfName(name))),
        ref("parameters", "MinBlock"),
      ],
      responses: {
        200: {
          description: `${summary}.`,
          headers: refs("headers", [...OF_A_FIGURE, "Content-Encoding", ...ofDigested]),
          content: this.#content(envelope.successSchema(data), answersOf(id, 200), type),
        },
        304: ref("responses", "NotModified"),
        ...failureRefs(envelope.failures, ({ status }) => status !== 404 || isToldOf404),
      },
    };
  }

  healthOperation({ id, summary, description, answers }: HealthPath): object {
    const own = Object.entries(answers).map(([status, { meaning, schema }]) => [
      status,
      {
        description: meaning,
        headers: refs("headers", [
          ...(["Cache-Control", ...OF_THE_REQUEST, ...OF_ANY_ORIGIN] as const),
          ...(status === "503" ? (["Retry-After"] as const) : []),
        ]),
        content: this.#content(schema, answersOf(id, Number(status))),
      },
    ]);
    return {
      operationId: id,
      tags: ["service"],
      summary,
      description,
      responses: {
        ...(Object.fromEntries(own) as object),
        ...failureRefs("v2", ({ status }) => OF_A_PLAIN_PATH.includes(status)),
      },
    };
  }

  streamOperation(): object {
    const ofStream = OF_A_FIGURE.filter((name) => name !== "ETag" && name !== "X-Head-Block");
    return {
      operationId: "v2Stream",
      tags: ["v2"],
      summary: "What changes, as server-sent events",
      description:
        "One stream for all topics of a client. Each event has what one head has changed, with the " +
        "records of the other paths. A client that comes back with the `id` of its last event, in " +
        "`Last-Event-ID` or `from`, misses nothing and gets nothing twice. A comment each 15 seconds " +
        "keeps the connection. HEAD returns the headers.",
      parameters: [...STREAM_PARAMETERS, ref("parameters", "MinBlock")],
      responses: {
        200: {
          description: "The stream. The schema is that of an event with its `data` parsed.",
          headers: refs("headers", [...ofStream, "X-Accel-Buffering", "Content-Encoding"]),
          content: {
            "text/event-stream": {
              schema: { oneOf: streamEvents.map((event) => this.schemas.of(event)) },
            },
          },
        },
        ...failureRefs("v2", ({ status }) => status !== 404),
      },
    };
  }

  failuresOf({ failures: version, failureSchema }: Envelope): [name: string, response: object][] {
    return failures.map(({ status, name, description, headers: carried }) => {
      const named = failureName(version, name);
      const content = this.#content(failureSchema, answersOf(named, status));
      return [named, { description, headers: refs("headers", carried), content }];
    });
  }

  #pairParameters(): object[] {
    return Object.entries(pairInPath).map(([name, { description, schema, example }]) => ({
      name,
      in: "path",
      required: true,
      description,
      schema: this.schemas.of(schema),
      example,
    }));
  }

  parameter(
    name: string,
    { description, accepted, schema, example, required }: Parameter<unknown>,
    isOfPath = false,
  ): object {
    return {
      name,
      in: isOfPath ? "path" : "query",
      ...((isOfPath || required) && { required: true }),
      description: `${description} Must be ${accepted}.`,
      schema: this.schemas.of(schema),
      example: schema.parse(example),
    };
  }

  #content(schema: z.ZodType, answers: string, type = "application/json"): object {
    const named = Object.entries(this.#examples[answers] ?? {}).map(([summary, value]) => [
      summary.replaceAll(/\W+/g, "-"),
      { summary, value },
    ]);
    return {
      [type]: {
        schema: this.schemas.of(schema),
        ...(named.length > 0 && { examples: Object.fromEntries(named) as object }),
      },
    };
  }
}

const asOfName = (parameter: string): string => `AsOf-${parameter}`;
