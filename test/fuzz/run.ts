// Gives the service inputs at random, and throws where one is answered by a fault of its own, with
// its insides, or not at all.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { connect, makePool } from "../../db/connect.ts";
import { readFolder } from "../../db/load/folder.ts";
import { LoadError } from "../../db/load/load-error.ts";
import { loadRows } from "../../db/load/write.ts";
import { HTTP_BOUNDS } from "../../server/http/http-server.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { graphql, type Asked } from "../exchange-http.ts";
import { answerTo } from "./answer-to.ts";
import { graphqlBody } from "./documents.ts";
import { folder } from "./files.ts";
import { rawRequest, restRequest } from "./requests.ts";

/** An answer takes this long at most, in milliseconds, also on a machine with much other work; else it hangs. */
const HANGS_MS = 60_000;

/** On a machine that has no time a connection is waited for; one that never comes is seen as a hang. */
const WAIT_MS = 2 * HANGS_MS;

/** What no client is to see: statements, files of the service, stacks, masks. */
const INSIDES =
  /\bselect\b[^"]* from |node_modules|\.ts:\d|\n\s+at |logged with hash|INTERNAL_SERVER_ERROR/i;

export interface Fuzzed {
  kind: string;
  inputs: number;
  /** How often each status came, or what became of a folder. */
  outcomes: Map<string, number>;
}

interface Target {
  app: TestApp;
  /** What folders are loaded into, and nobody asks. */
  loaded: TestDatabase;
  outcomes: Map<string, number>;
}

/** One kind of input, and what is done with one. */
interface Kind<Input> {
  share: number;
  workers?: number;
  inputs: fc.Arbitrary<Input>;
  give: (input: Input, target: Target) => Promise<string>;
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

async function giveRequest(asked: Asked, { app }: Target): Promise<string> {
  const signal = AbortSignal.timeout(HANGS_MS);
  const { status, text } = await answerTo(app.url, asked, { agent, signal });
  if (status === 500 || INSIDES.test(text)) throw new Error(`${status}: ${text.slice(0, 1000)}`);
  // GraphiQL and the market pages are no JSON; Express's own page of an error begins in other letters.
  const isPage = text.startsWith("<!doctype html>") || /^\/(graphiql|ruru)/.test(asked.path);
  const isJson = text.startsWith("{") || text === "" || isPage;
  if (status >= 400 && !isJson) throw new Error(`${status} is not told in JSON: ${text}`);
  return String(status);
}

function giveBytes(bytes: Uint8Array, { app }: Target): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(new URL(app.url).port), "127.0.0.1");
    let text = "";
    const hangs = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the connection is held: ${text}`));
    }, HANGS_MS);
    socket.on("error", () => undefined);
    socket.on("data", (more: Buffer) => (text += more.toString("latin1")));
    socket.on("close", () => {
      clearTimeout(hangs);
      if (/^HTTP\/1\.1 500/m.test(text) || INSIDES.test(text)) reject(new Error(text));
      else resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? "closed");
    });
    socket.end(bytes);
  });
}

/** So many folders are loaded one after another: the first is of new blocks, the last hardly ever. */
const FOLDERS_IN_A_ROW = 5;

async function giveFolder(
  files: Record<string, string>,
  { loaded, outcomes }: Target,
): Promise<string> {
  const before = [...outcomes.values()].reduce((sum, times) => sum + times, 0);
  if (before % FOLDERS_IN_A_ROW === 0) await loaded.empty();
  const path = await mkdtemp(join(tmpdir(), "dex-fuzz-"));
  const client = await connect(loaded.url, { role: "dex_writer", waitMs: WAIT_MS });
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
    await loadRows(client, await readFolder(path));
    return "loaded";
  } catch (error) {
    if (error instanceof LoadError) return "refused, and told why";
    throw error;
  } finally {
    await client.end();
    await rm(path, { recursive: true });
  }
}

/** Forgets of what type the inputs are, which its own `give` alone takes. */
const kind = <Input>(of: Kind<Input>): Kind<unknown> => of as unknown as Kind<unknown>;

const KINDS: Record<string, Kind<unknown>> = {
  "REST requests and headers": kind({ share: 0.45, inputs: restRequest, give: giveRequest }),
  "bytes that are hardly HTTP": kind({ share: 0.15, inputs: rawRequest, give: giveBytes }),
  "GraphQL requests": kind({
    share: 0.35,
    inputs: graphqlBody,
    give: (body, target) => giveRequest(graphql(body), target),
  }),
  // The loader takes one folder at a time.
  "folders for the loader": kind({ share: 0.05, workers: 1, inputs: folder, give: giveFolder }),
};

/** So many inputs at once. */
const WORKERS = 4;

/**
 * Gives so many inputs of all kinds. Throws with the input, as small as it can be made, for which the
 * service fails; what it logs counts as well.
 */
export async function fuzz(
  database: TestDatabase,
  { inputs, seed, onProgress }: { inputs: number; seed: number; onProgress?: (n: number) => void },
): Promise<Fuzzed[]> {
  const loaded = await makeDatabase();
  const pool = makePool(database.url, { role: "dex_reader", waitMs: WAIT_MS });
  const app = await makeTestApp(pool, {
    cache: { bytes: 10_000_000, checkMs: 50 },
    http: { ...HTTP_BOUNDS, headersTimeoutMs: 300, requestTimeoutMs: 300 },
  });
  let given = 0;
  try {
    // What is done once, as to build the schema, is none of the first input's time.
    for (const asked of [{ path: "/v2/prices" }, graphql({ query: "{ __typename }" })]) {
      await answerTo(app.url, asked, {});
    }
    const all: Fuzzed[] = [];
    for (const [name, { share, workers = WORKERS, inputs: input, give }] of Object.entries(KINDS)) {
      const outcomes = new Map<string, number>();
      const each = Math.ceil((inputs * share) / workers);
      const work = (n: number): Promise<void> =>
        fc.assert(
          fc.asyncProperty(input, async (one) => {
            const outcome = await give(one, { app, loaded, outcomes });
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
            if (app.logged.length > 0) {
              throw new Error(`it was logged: ${String(app.logged.splice(0)[0])}`);
            }
            given += 1;
            onProgress?.(given);
          }),
          { numRuns: each, seed: seed + n },
        );
      await Promise.all(Array.from({ length: workers }, (_, n) => work(n)));
      all.push({ kind: name, inputs: each * workers, outcomes });
    }
    return all;
  } finally {
    agent.destroy();
    await app.close();
    await pool.end();
    await loaded.drop();
  }
}
