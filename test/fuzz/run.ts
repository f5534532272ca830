// Gives the service inputs at random, and throws where one is answered by a fault of its own, with
// its insides, or not at all.
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { WebSocket } from "ws";
import { readFolder } from "../../db/load/folder.ts";
import { LoadError } from "../../db/load/load-error.ts";
import { loadRows } from "../../db/load/write-rows.ts";
import { HTTP_BOUNDS } from "../../http/http-server.ts";
import { STREAM_LIMITS } from "../../rest/stream/stream-endpoint.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { makeDatabase, openClient, openPool, type TestDatabase } from "../database.ts";
import { graphql, type Asked } from "../exchange-http.ts";
import { UPGRADE } from "../faults/raw-connection.ts";
import { answerTo } from "./answer-to.ts";
import { atOnce, graphqlBody } from "./documents.ts";
import { folder } from "./files.ts";
import { messages, upgrades, type Messages, type Upgrades } from "./messages.ts";
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
  /** That the service has open. */
  connections: ReadonlySet<Socket>;
  /** What folders are loaded into, and nobody asks. */
  loaded: TestDatabase;
  outcomes: Map<string, number>;
}

/** One kind of input, and what is done with one. */
interface Kind<Input> {
  share: number;
  workers?: number;
  /** Gives up at the first failure, which takes as long as a hang, rather than look for the smallest input. */
  endOnFailure?: boolean;
  inputs: fc.Arbitrary<Input>;
  give: (input: Input, target: Target) => Promise<string>;
}

const agent = new Agent({ keepAlive: true });

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

async function giveAtOnce(bodies: string[], target: Target): Promise<string> {
  const all = await Promise.all(bodies.map((body) => giveRequest(graphql(body), target)));
  return [...new Set(all)].sort().join(" and ");
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

/** Faults of the service by RFC 6455 and by graphql-ws. */
const FAULT_CODES = [1011, 4500];

/** Whether it stays open, or the code by which it was closed. */
function giveMessages({ isInitialised, frames }: Messages, { app }: Target): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(
      `${app.url.replace("http", "ws")}/graphql`,
      "graphql-transport-ws",
    );
    const hangs = setTimeout(() => {
      socket.terminate();
      reject(new Error("the messages are not answered"));
    }, HANGS_MS);
    let text = "";
    const over = (outcome: string, code = 1000): void => {
      clearTimeout(hangs);
      socket.terminate();
      if (FAULT_CODES.includes(code) || INSIDES.test(text)) reject(new Error(`${code}: ${text}`));
      else resolve(outcome);
    };
    socket.on("error", (error) => over(error.message, 1011));
    socket.on("close", (code) => over(`closed by ${code}`, code));
    socket.on("message", (data: Buffer) => (text += String(data)));
    // All before it are handled then.
    socket.on("pong", () => over("stays open"));
    socket.on("open", () => {
      if (isInitialised) socket.send('{"type":"connection_init"}');
      for (const { data, isLast } of frames) socket.send(data, { fin: isLast });
      socket.ping();
    });
  });
}

/** As many as the other kinds open at once: more are refused. */
const WEBSOCKETS_PER_CLIENT = 16;

/** The service closes those that it refuses, whatever they send then. */
async function giveUpgrades(
  { connections, bytes, ends }: Upgrades,
  { app, connections: all }: Target,
): Promise<string> {
  const before = all.size;
  const signal = AbortSignal.timeout(HANGS_MS);
  const port = Number(new URL(app.url).port);
  const open = async (): Promise<{ socket: Socket; isRefused: boolean }> => {
    const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined).write(UPGRADE);
    const [answer] = (await once(socket, "data", { signal })) as [Buffer];
    return { socket, isRefused: !answer.toString("latin1").startsWith("HTTP/1.1 101") };
  };
  const opened = await Promise.all(Array.from({ length: connections }, open));
  for (const { socket } of opened) {
    socket.write(bytes);
    if (ends) socket.end();
  }
  for (const { socket, isRefused } of opened) if (!isRefused) socket.destroy();
  await untilOpen(before, all);
  for (const { socket } of opened) socket.destroy();
  return opened.some(({ isRefused }) => isRefused)
    ? "some are refused, and closed"
    : "all are open";
}

/** Resolves when the service has so many connections, or fewer. */
async function untilOpen(most: number, connections: ReadonlySet<Socket>): Promise<void> {
  const until = performance.now() + HANGS_MS;
  while (connections.size > most) {
    if (performance.now() > until) {
      throw new Error(`${connections.size} connections are open, not ${most}`);
    }
    await sleep(5);
  }
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
  await using client = await openClient(loaded.url, { role: "dex_writer", waitMs: WAIT_MS });
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
    await loadRows(client, await readFolder(path));
    return "loaded";
  } catch (error) {
    if (error instanceof LoadError) return "refused, with the reason";
    throw error;
  } finally {
    await rm(path, { recursive: true });
  }
}

/** Forgets of what type the inputs are, which its own `give` alone takes. */
const kind = <Input>(of: Kind<Input>): Kind<unknown> => of as unknown as Kind<unknown>;

const KINDS: Record<string, Kind<unknown>> = {
  "REST requests and headers": kind({ share: 0.4, inputs: restRequest, give: giveRequest }),
  "bytes that are hardly HTTP": kind({ share: 0.15, inputs: rawRequest, give: giveBytes }),
  "GraphQL requests": kind({
    share: 0.325,
    inputs: graphqlBody,
    give: (body, target) => giveRequest(graphql(body), target),
  }),
  "messages of a WebSocket": kind({ share: 0.05, inputs: messages, give: giveMessages }),
  // One batch at a time, so that what it evicts is in flight.
  "requests at once": kind({ share: 0.02, workers: 1, inputs: atOnce, give: giveAtOnce }),
  // One at a time, each has all places of the client.
  "upgrades, of which some are refused": kind({
    ...{ share: 0.005, workers: 1, endOnFailure: true, inputs: upgrades, give: giveUpgrades },
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
  await using loaded = await makeDatabase();
  await using pool = openPool(database.url, { role: "dex_reader", waitMs: WAIT_MS });
  await using app = await makeTestApp(pool, {
    cache: { bytes: 20_000, checkMs: 50 },
    streams: { ...STREAM_LIMITS, perClient: WEBSOCKETS_PER_CLIENT },
    http: { ...HTTP_BOUNDS, headersTimeoutMs: 300, requestTimeoutMs: 300 },
  });
  const connections = new Set<Socket>();
  app.server.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  let given = 0;
  try {
    // What is done once, as to build the schema, is none of the first input's time.
    for (const asked of [{ path: "/v2/prices" }, graphql({ query: "{ __typename }" })]) {
      await answerTo(app.url, asked, {});
    }
    const all: Fuzzed[] = [];
    for (const [name, of] of Object.entries(KINDS)) {
      const { share, workers = WORKERS, inputs: input, give, endOnFailure = false } = of;
      const outcomes = new Map<string, number>();
      const each = Math.ceil((inputs * share) / workers);
      const work = (n: number): Promise<void> =>
        fc.assert(
          fc.asyncProperty(input, async (one) => {
            const outcome = await give(one, { app, connections, loaded, outcomes });
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
            if (app.logged.length > 0) {
              throw new Error(`it was logged: ${String(app.logged.splice(0)[0])}`);
            }
            given += 1;
            onProgress?.(given);
          }),
          { numRuns: each, seed: seed + n, endOnFailure },
        );
      await Promise.all(Array.from({ length: workers }, (_, n) => work(n)));
      all.push({ kind: name, inputs: each * workers, outcomes });
    }
    agent.destroy();
    await untilOpen(0, connections);
    return all;
  } finally {
    agent.destroy();
    // A close of the service waits for each.
    for (const socket of connections) socket.destroy();
  }
}
