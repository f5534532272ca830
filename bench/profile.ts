// `npm run bench:profile`: shows how the service's processor time for one case is divided among packages,
// without the cache. `-- --trades 200000 --case PageAndTotal`, or a REST path; cases.ts has the cases.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCommandLine, refuse } from "../db/command-line.ts";
import { connect } from "../db/connect.ts";
import { graphqlCases, graphqlRequest, readFacts, restCases } from "./cases.ts";
import { isPossibleSize, makeData } from "./data/make.ts";
import { openServer } from "./data/server.ts";
import { askFor } from "./load/client.ts";
import { PROGRAMS, startServer } from "./servers/start.ts";

const CONNECTIONS = 16;
const WARM_UP_SECONDS = 3;
const SECONDS = 5;

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  timeDeltas: number[];
}

const log = (line: string): void => console.log(line);

/** The package of a function, or another name for its code; undefined for idle time. */
function ownerOf({ functionName, url }: Profile["nodes"][0]["callFrame"]): string | undefined {
  if (functionName === "(idle)" || functionName === "(root)") return undefined;
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (name !== undefined) return name;
  if (url.startsWith("node:")) return "node";
  if (url !== "") return "the program itself";
  return functionName.startsWith("(") ? functionName.slice(1, -1) : "native code";
}

/** Shares of the busy time in the last seconds of a profile, largest first. */
function shares({ nodes, samples, timeDeltas }: Profile, seconds: number): [string, number][] {
  const owners = new Map(nodes.map(({ id, callFrame }) => [id, ownerOf(callFrame)]));
  const times = new Map<string, number>();
  let busy = 0;
  let passed = 0;
  for (let n = samples.length - 1; n >= 0 && passed < seconds * 1e6; n -= 1) {
    const time = timeDeltas[n] ?? 0;
    passed += time;
    const owner = owners.get(samples[n] ?? 0);
    if (owner === undefined) continue;
    busy += time;
    times.set(owner, (times.get(owner) ?? 0) + time);
  }
  return [...times].map(([owner, time]): [string, number] => [owner, time / busy]).sort(byShare);
}

const byShare = ([, a]: [string, number], [, b]: [string, number]): number => b - a;

async function main(): Promise<void> {
  const { values } = readCommandLine({
    usage: `Usage: npm run bench:profile -- [options]

Shows which packages the service spends its time in for one case, without the cache.

  --trades N   how many trades, a multiple of 1000 from 100000; default 1000000
  --case NAME  an operation of bench/cases.ts, default Page, or a path of REST
  --help       show this`,
    options: {
      trades: { type: "string", default: "1000000" },
      case: { type: "string", default: "Page" },
    },
  });
  const trades = Number(values.trades);
  if (!isPossibleSize(trades)) refuse("--trades is a multiple of 1000 from 100000");
  const postgres = await openServer(process.env, log);
  const folder = await mkdtemp(join(tmpdir(), "bench-profile-"));
  try {
    const url = await makeData(postgres, trades, log);
    const client = await connect(url, { role: "dex_reader" });
    const pages = graphqlCases(await readFacts(client));
    await client.end();
    const cases = new Map([
      ...pages.map((page) => [page.operation, graphqlRequest(page)] as const),
      ...(await restCases(trades)).map(({ name, request }) => [name, request] as const),
    ]);
    const request = cases.get(values.case);
    if (request === undefined) {
      throw new Error(`--case is ${values.case}; it accepts ${[...cases.keys()].join(", ")}`);
    }
    const server = await startServer(PROGRAMS.service, {
      DATABASE_URL: url,
      DATABASE_OWNER_URL: url,
      CACHE: "off",
      RATE_LIMIT: "0",
      MAX_CONCURRENT: "0",
      NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}`,
    });
    await askFor(server.url, request, {
      connections: CONNECTIONS,
      seconds: WARM_UP_SECONDS + SECONDS,
    });
    await server.stop();
    for (const file of await readdir(folder)) {
      const profile = JSON.parse(await readFile(join(folder, file), "utf8")) as Profile;
      for (const [owner, share] of shares(profile, SECONDS).slice(0, 15)) {
        log(`${(share * 100).toFixed(1).padStart(5)} %  ${owner}`);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
    await postgres.stop();
  }
}

await main();
