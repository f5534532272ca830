// Has a request answered into memory instead of to its client.
import {
  ServerResponse,
  type IncomingMessage,
  type OutgoingHttpHeader,
  type OutgoingHttpHeaders,
} from "node:http";
import type { Answer } from "./answer-store.ts";
import { observationOf } from "../observe/observation.ts";
import { isWhole } from "./complete-answers.ts";

/** The rest of the service, for instance Express; `next` is for what it could not answer. */
export type Service = (
  req: IncomingMessage,
  res: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

export interface Captured {
  answer: Answer;
  /** Whether GraphQL has declared it the result of an operation without errors. */
  isWhole: boolean;
}

/**
 * The service's answer to this request as a GET or POST without conditions, whatever becomes of the
 * client meanwhile. The request is changed to that. Rejects where the service breaks its answer off.
 */
export function captureAnswer(service: Service, req: IncomingMessage): Promise<Captured> {
  // What HEAD and conditional requests are answered follows from the answer to GET.
  if (req.method === "HEAD") req.method = "GET";
  const { "if-none-match": _condition, ...headers } = req.headers;
  req.headers = headers;
  return new Promise((resolve, reject) => {
    const response = new ServerResponse(req);
    const chunks: Buffer[] = [];
    let ended = false;
    const writeHead = response.writeHead.bind(response);
    // Express replaces the prototype, so a class of our own would not last.
    Object.assign(response, {
      writeHead(status: number, headers: unknown = []): ServerResponse {
        // A list given here would be sent, and not be remembered.
        if (!Array.isArray(headers)) return writeHead(status, headers as OutgoingHttpHeaders);
        for (let n = 0; n < headers.length; n += 2) {
          response.setHeader(String(headers[n]), headers[n + 1] as OutgoingHttpHeader);
        }
        return writeHead(status);
      },
      write(chunk: unknown, encoding?: unknown): boolean {
        chunks.push(asBuffer(chunk, encoding));
        return true;
      },
      end(chunk?: unknown, encoding?: unknown): ServerResponse {
        if (ended) return response;
        ended = true;
        if (chunk !== undefined && chunk !== null && typeof chunk !== "function") {
          chunks.push(asBuffer(chunk, encoding));
        }
        if (!response.headersSent) response.writeHead(response.statusCode);
        resolve({ answer: finished(req, response, chunks), isWhole: isWhole(response) });
        response.emit("close");
        return response;
      },
    });
    service(req, response, (error) => {
      reject(error instanceof Error ? error : new Error("Nothing has answered", { cause: error }));
    });
  });
}

function asBuffer(chunk: unknown, encoding: unknown): Buffer {
  if (typeof chunk === "string") {
    return Buffer.from(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
  }
  const bytes = chunk as Uint8Array<ArrayBuffer>;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// Every outgoing message has it; the types tell of one kind only.
type WithRawNames = ServerResponse & { getRawHeaderNames(): string[] };

/** The headers that a response was given, with their letters as they were: names and values in turn. */
export const headersOf = (response: ServerResponse): OutgoingHttpHeader[] =>
  (response as WithRawNames)
    .getRawHeaderNames()
    .flatMap((name) => [name, response.getHeader(name) ?? ""]);

/** Longer bodies are sent with less work as they are. */
const SHORT_BYTES = 8192;

function asBody(chunks: Buffer[]): Buffer | string {
  const whole = Buffer.concat(chunks);
  return whole.length <= SHORT_BYTES ? whole.toString("latin1") : whole;
}

function finished(req: IncomingMessage, response: ServerResponse, chunks: Buffer[]): Answer {
  const etag = response.getHeader("etag");
  return {
    status: response.statusCode,
    // It has them all, also those given to `writeHead`, since at least one was given before.
    headers: headersOf(response),
    body: asBody(chunks),
    etag: typeof etag === "string" ? etag : undefined,
    madeFor: observationOf(req),
  };
}
