// Requests to the service that is mirrored. Whatever it answers, no more is read of it than was asked for.
import { createHash } from "node:crypto";
import { Agent, fetch, Headers, request } from "undici";
import type { z } from "zod";
import { errorText } from "../error-text.ts";
import { jsonPartsOf, MAX_JSON_PARTS } from "../json-parts.ts";
import { parseInSteps } from "../parse-in-steps.ts";
import { MirrorError, OriginUnavailable } from "./mirror-error.ts";

/** For the headers of an answer, and then for each of its parts of this length. */
const IDLE_MS = 30_000;
export const PART_BYTES = 32_768;

/** The shortest and the longest pause that an origin can ask for: asked again at once, it would be asked without a pause. */
const MIN_RETRY_MS = 250;
const MAX_RETRY_MS = 60_000;

/** Without one, undici 8 sends by Node's, where Node's `fetch` was called before. */
const dispatcher = new Agent();

interface Request {
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Whether the answer must have a Content-Digest, by which a bit that has changed on the way is noticed. */
  isDigested?: boolean;
  /** Whether the bytes are those that are sent, whatever Content-Encoding they have. Otherwise they are decoded. */
  isRaw?: boolean;
}

/** What `fetch` gives, as far as it is read. */
interface Answer {
  status: number;
  headers: Headers;
  body: AsyncIterable<Uint8Array> | null;
}

export class Origin {
  readonly #base: URL;
  readonly #idleMs: number;

  /** `base` is a folder: names are below it. */
  constructor(base: string, { idleMs = IDLE_MS } = {}) {
    this.#base = folderUrl(base);
    this.#idleMs = idleMs;
  }

  get url(): string {
    return this.#base.href;
  }

  /** The text of an answer in JSON of at most so many bytes. */
  async text(path: string, maxBytes: number, request: Request = {}): Promise<string> {
    const chunks: Buffer[] = [];
    const hash = createHash("sha256");
    let given = "";
    let bytes = 0;
    let parts = 0;
    await this.read(path, request, {
      onHead: ({ headers }) => {
        given = headers.get("content-digest") ?? "";
      },
      onChunk: (chunk) => {
        hash.update(chunk);
        bytes += chunk.length;
        if (bytes > maxBytes) {
          throw new MirrorError(`${this.#urlOf(path)} answers with more than ${maxBytes} bytes`);
        }
        parts += jsonPartsOf(chunk);
        if (parts > MAX_JSON_PARTS) {
          throw new MirrorError(
            `${this.#urlOf(path)} answers with more than ${MAX_JSON_PARTS} lists, objects and members`,
          );
        }
        chunks.push(Buffer.from(chunk));
      },
    });
    if (request.isDigested === true && given !== `sha-256=:${hash.digest("base64")}:`) {
      const problem =
        given === "" ? "has no Content-Digest" : "is not what its Content-Digest says";
      throw new OriginUnavailable(`${this.#urlOf(path)} ${problem}`);
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  /** Throws OriginUnavailable where the origin answers later, and MirrorError for an answer that would not change. */
  async read(
    path: string,
    { headers = {}, signal, isRaw = false }: Request,
    {
      onHead = () => undefined,
      onChunk,
    }: {
      onHead?: (answer: Answer) => void | Promise<void>;
      onChunk: (chunk: Uint8Array) => void | Promise<void>;
    },
  ): Promise<void> {
    const url = this.#urlOf(path);
    const end = new AbortController();
    const silence = new AbortController();
    const silent = silence.signal;
    const timer = setTimeout(() => silence.abort(), this.#idleMs);
    const signals = [end.signal, silent, ...(signal === undefined ? [] : [signal])];
    try {
      const response = await (isRaw ? sendRaw : send)(url, {
        headers: { "Accept-Encoding": "identity", ...headers },
        signal: AbortSignal.any(signals),
        dispatcher,
      });
      try {
        if (response.status !== 200 && response.status !== 206) await refuse(url, response);
        await onHead(response);
        let [asked, waited, came] = [performance.now(), 0, 0];
        for await (const chunk of bytesOf(response)) {
          timer.refresh();
          waited += performance.now() - asked;
          came += chunk.length;
          // A byte now and then would hold the caller for ever.
          if (waited > this.#idleMs) silence.abort();
          if (came >= PART_BYTES) [waited, came] = [0, 0];
          silent.throwIfAborted();
          await onChunk(chunk);
          timer.refresh();
          asked = performance.now();
        }
      } finally {
        // What is left of it is not read.
        end.abort();
      }
    } catch (error) {
      if (error instanceof MirrorError || error instanceof OriginUnavailable) throw error;
      signal?.throwIfAborted();
      // A full disk is not the origin's.
      if ((error as NodeJS.ErrnoException).syscall === "write") throw error;
      const reason = silent.aborted
        ? "too little came in time"
        : errorText((error as Error).cause ?? error);
      throw new OriginUnavailable(`${url} does not answer: ${reason}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  #urlOf(path: string): string {
    return new URL(path, this.#base).href;
  }
}

/** Throws a MirrorError for what is no URL of http or https, or has a login or a query. */
export function folderUrl(text: string): URL {
  const url = URL.parse(text);
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.username + url.password + url.search + url.hash !== ""
  ) {
    throw new MirrorError(
      `${JSON.stringify(text)} is not accepted: it must be a URL such as https://other.example, http or https, without a login or a query`,
    );
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

interface Sent {
  headers: Record<string, string>;
  signal: AbortSignal;
  dispatcher: Agent;
}

async function send(url: string, sent: Sent): Promise<Answer> {
  const { status, headers, body } = await fetch(url, { ...sent, redirect: "manual" });
  return { status, headers, body: body as AsyncIterable<Uint8Array> | null };
}

/** `fetch` cannot leave bytes encoded; this follows no redirect either. */
async function sendRaw(url: string, sent: Sent): Promise<Answer> {
  const { statusCode, headers, body } = await request(url, sent);
  return { status: statusCode, headers: new Headers(headers as Record<string, string>), body };
}

async function refuse(url: string, response: Answer): Promise<never> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) {
    const target = (headers.get("location") ?? "another place").slice(0, 200);
    throw new MirrorError(`${url} redirects to ${target}: give the URL that it is at`);
  }
  if (status === 429 || status >= 500) {
    const seconds = Number(headers.get("retry-after") ?? "");
    const asked = Math.min(Math.max(seconds * 1000, MIN_RETRY_MS), MAX_RETRY_MS);
    const retryMs = seconds > 0 ? asked : undefined;
    throw new OriginUnavailable(`${url} answers ${status}`, { status, retryMs });
  }
  throw new MirrorError(`${url} answers ${status}${await messageOf(response)}`);
}

const SHOWN_BYTES = 1000;

async function* bytesOf({ body }: Answer): AsyncGenerator<Uint8Array> {
  if (body !== null) yield* body;
}

async function messageOf(response: Answer): Promise<string> {
  for await (const chunk of bytesOf(response)) {
    const [, message] =
      /"message":"([^"]*)"/.exec(Buffer.from(chunk).toString().slice(0, SHOWN_BYTES)) ?? [];
    return message === undefined ? "" : `: ${message}`;
  }
  return "";
}

/** `subject` is how a message begins: "the registrations are". */
export function readJson(text: string, subject: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new OriginUnavailable(`${subject} not JSON`, { cause: error });
  }
}

/** What an answer says. Throws a MirrorError for the first thing in it that is not as documented. */
export function readAnswer<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  subject: string,
): z.infer<Schema> {
  const given = readJson(text, subject);
  try {
    return parseInSteps(schema, given);
  } catch (error) {
    throw new MirrorError(`${subject} not as documented: ${errorText(error).slice(0, 300)}`);
  }
}
