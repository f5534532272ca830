// What clients can make the service hold: floods of each kind against a process with a small heap and its default
// limits. It goes on serving another client, and what it holds stays within the table of docs/operations.md.
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { runFile, startService, type Service } from "../service.ts";
import { FLOOD_NAMES, type FloodName } from "./floods.ts";
import { startFaultyServer, type FaultyServer } from "./server.ts";

const HEAP_MB = 512;
const FLOOD_MS = Number(process.env["FLOOD_MS"] ?? 5000);
const ATTACKER = "127.0.0.1";
const OTHER = "127.0.0.2";
/** Growth of the resident memory by one client, of which garbage is a good part. */
const MAX_MB = 250;

let server: FaultyServer;
beforeAll(async () => {
  server = await startFaultyServer(3000);
});
afterAll(() => server.remove());

let service: Service;
beforeEach(() => {
  service = startService({
    DATABASE_URL: server.url,
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB} --max-semi-space-size=16`,
  });
});
afterEach(async () => {
  service.signal("SIGKILL");
  await service.ended;
});

async function megabytes(pid: number, field: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
}

/** The status, and the milliseconds. */
function ask(url: string, path: string): Promise<{ status: number; ms: number }> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(path, url), { localAddress: OTHER, agent: false });
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      response.resume().on("end", () => {
        resolve({ status: response.statusCode ?? 0, ms: performance.now() - began });
      });
    });
    outgoing.end();
  });
}

const PATHS = ["/v2/prices", "/v1/markets/", "/v2/trades/weth/dai?limit=10"];

interface Outcome {
  growth: number;
  /** Answers to the other client before the flood was over. */
  answered: number;
  statuses: number[];
}

async function play(name: FloodName, addresses: readonly string[]): Promise<Outcome> {
  const url = await service.url;
  for (const path of PATHS) await ask(url, path);
  const before = await megabytes(service.pid, "VmRSS");
  // Else the other client would wait for the flood's own work.
  const flood = runFile("test/faults/flood.ts", {}, [name, url, String(FLOOD_MS), ...addresses]);
  let isOver = false;
  const played = flood
    .printed(/^\{.*\}$/m)
    .finally(() => (isOver = true)) as Promise<RegExpExecArray>;
  const died = service.ended.then(({ code, stderr }) => {
    isOver = true;
    throw new Error(`the service ended with ${code}: ${stderr.slice(0, 600)}`);
  });
  died.catch(() => undefined);
  const statuses = new Map<number, number>();
  let [answered, slowest] = [0, 0];
  const isFlooded = (): boolean => !isOver;
  const askOn = async (): Promise<void> => {
    for (let n = 0; isFlooded(); n += 1) {
      const { status, ms } = await ask(url, PATHS[n % PATHS.length]!);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      slowest = Math.max(slowest, ms);
      if (isFlooded()) answered += 1;
      await sleep(20);
    }
  };
  try {
    // An answer that breaks as the service dies does not say why.
    const asked = askOn().catch((error: unknown) =>
      Promise.race([died, sleep(2000).then(() => Promise.reject(error as Error))]),
    );
    const [[tally]] = await Promise.race([Promise.all([played, asked]), died]);
    const most = await megabytes(service.pid, "VmHWM");
    process.stdout.write(
      `${addresses.length} × ${name}: ${before.toFixed()} → ${most.toFixed()} MB; ${tally}; ` +
        `others: ${JSON.stringify(Object.fromEntries(statuses))}, slowest ${slowest.toFixed()} ms\n`,
    );
    return { growth: most - before, answered, statuses: [...statuses.keys()] };
  } finally {
    flood.signal("SIGKILL");
    await flood.ended;
  }
}

it.each(FLOOD_NAMES)(
  "one client that sends %s holds little, and others are answered",
  async (name) => {
    const { growth, answered, statuses } = await play(name, [ATTACKER]);
    expect(statuses).toEqual([200]);
    expect(answered).toBeGreaterThan(0);
    expect(growth).toBeLessThan(MAX_MB);
  },
);

it("many addresses, whose messages have no end, hold no more together", async () => {
  const addresses = Array.from({ length: 100 }, (_, n) => `127.0.1.${n + 1}`);
  const { growth, statuses } = await play("messages but for their last byte", addresses);
  expect(statuses).toEqual([200]);
  expect(growth).toBeLessThan(MAX_MB);
});
