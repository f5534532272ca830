// Memory under documents that are all different, each as large as the limits take: what is kept of a
// document must not add up. `DOCUMENTS=20000 npm run test:suite -- faults memory` sends as many as that.
import { Agent } from "node:http";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { exchange, graphql } from "../exchange-http.ts";
import { startService, type Service } from "../service.ts";
import { startFaultyServer, type FaultyServer } from "./server.ts";

const DOCUMENTS = Number(process.env["DOCUMENTS"] ?? 500);
const WARM_AFTER = 200;
const CLIENTS = 4;
const HEAP_MB = 512;
const CACHE_BYTES = 64 * 1024 * 1024;
/** An eighth is for answers as of past blocks. */
const HEAD_BYTES = (CACHE_BYTES * 7) / 8;
/** A pause after each plan makes a document take 0.2 s alone on a machine, and longer beside other work. */
const LONGEST_MS = 240_000 + 2000 * DOCUMENTS;

let server: FaultyServer;
let service: Service;
beforeAll(async () => {
  server = await startFaultyServer(600);
  service = startService({
    DATABASE_URL: server.url,
    RATE_LIMIT: "0",
    CACHE_BYTES: String(CACHE_BYTES),
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB} --max-semi-space-size=16`,
  });
});
afterAll(async () => {
  service.signal("SIGKILL");
  await service.ended;
  await server.remove();
});

const SCALARS = "id market act maker taker lotAmt bidAmt price block time tx";

/** A document of 24 lists, close to the limit of what may be planned; no two numbers give the same. */
function largeDocument(n: number): string {
  const lists = Array.from(
    { length: 24 },
    (_, list) => `a${list}_${n}: allDexTrades(first: 1) { nodes { ${SCALARS} } }`,
  );
  return `{ ${lists.join(" ")} }`;
}

/** Keeps answers until the cache has no room for another: a warm service has a full cache. */
async function fillAnswerCache(url: string, agent: Agent): Promise<void> {
  const page = graphql({ query: `{ allDexTrades(first: 100) { nodes { ${SCALARS} } } }` });
  let sent = 0;
  while ((await answerCacheBytes(url)) < HEAD_BYTES * 0.95) {
    // Only the body is another one: the document is the same, and its plan.
    sent += 1;
    await exchange(url, { ...page, body: `${page.body}${" ".repeat(sent)}` }, { agent });
  }
}

async function answerCacheBytes(url: string): Promise<number> {
  const { body } = await exchange(url, { path: "/metrics" });
  return Number(/^dex_cache_bytes (\d+)/m.exec(body.toString("utf8"))?.[1]);
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

it(
  "stays what it was when the service was warm, however many different documents come",
  async () => {
    const url = await service.url;
    const died = service.ended.then(({ code, stderr }) => {
      throw new Error(`the service ended with ${code}: ${stderr.slice(-2000)}`);
    });
    died.catch(() => undefined);
    const agent = new Agent({ keepAlive: true });
    let sent = 0;
    const sendUntil = async (count: number): Promise<void> => {
      while (sent < count) {
        sent += 1;
        const asked = graphql({ query: largeDocument(sent) });
        let text: string;
        // A machine with much other work has the service say that it is busy.
        do {
          const answer = exchange(url, asked, { agent });
          // A connection that breaks as the service dies does not say why.
          const reason = (error: unknown) =>
            Promise.race([died, sleep(2000).then(() => Promise.reject(error as Error))]);
          text = (await answer.catch(reason)).body.toString("utf8");
        } while (/"code":"(?:UNAVAILABLE|TIMEOUT)"/.test(text));
        expect(text.slice(0, 8)).toBe('{"data":');
      }
    };
    const send = (count: number): Promise<unknown> =>
      Promise.all(Array.from({ length: CLIENTS }, () => sendUntil(count)));

    await fillAnswerCache(url, agent);
    await send(WARM_AFTER);
    const warm = await residentMegabytes(service.pid);
    await send(DOCUMENTS);
    const after = await residentMegabytes(service.pid);
    agent.destroy();

    process.stdout.write(
      `Resident: ${warm.toFixed()} MB after ${WARM_AFTER} documents, ${after.toFixed()} MB after ${DOCUMENTS}.\n`,
    );
    expect(after).toBeLessThan(warm * 1.2);
  },
  LONGEST_MS,
);
