// `npm run generate -- profile`: writes where the processor time of an answer goes, beside a handler written by hand.
// `-- --trades 20000 --out FOLDER` to try it.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../db/connect.ts";
import { byId, graphqlCases, graphqlRequest, readFacts, restCases } from "../bench/cases.ts";
import { startAsking } from "../bench/contenders.ts";
import { makeData } from "../bench/data/make.ts";
import { openServer } from "../bench/data/server.ts";
import { publish, readOptions, runLines, runOf, table } from "../bench/harness.ts";
import { askFor } from "../bench/load/client.ts";
import { recordPages } from "../bench/servers/recorded-page.ts";

/** By the file of a function, the first that fits. A function without one is of the function that calls it. */
const PARTS: readonly [RegExp, string][] = [
  [/node_modules\/pg[^/]*\//, "rows from PostgreSQL: pg"],
  [/node_modules\/(express|router|send|finalhandler|path-to-regexp)\//, "Express and its router"],
  [
    /node_modules\/(grafast|@dataplan|pg-sql2|graphql|tamedevil)\//,
    "GraphQL's plan: grafast, @dataplan/pg",
  ],
  [/node_modules\/(grafserv|postgraphile|ruru[^/]*)\//, "grafserv"],
  [/node_modules\//, "other packages"],
  [/node:(internal\/)?_?http/, "Node's HTTP"],
  [/node:/, "Node's streams, timers, promises and hashes"],
  [/\/db\//, "this project: db, which takes connections and sends statements"],
  [/\/market\//, "this project: market, which reads rows"],
  [/\/http\//, "this project: http, which limits, counts, logs, and writes headers"],
  [/\/rest\//, "this project: rest, which makes JSON"],
  [/\/(graphql|packages)\//, "this project: graphql and packages"],
  [/\/(server|bench)\//, "the handlers of the server"],
];
/** Functions of V8 and of the system, by their names. */
const NATIVE = new Map([
  ["(garbage collector)", "garbage collection"],
  ["(program)", "the system"],
  ["stringify", "JSON"],
]);
const WRITES = /^(writev|write\w+String|writeBuffer)$/;
const SECONDS = 8;
const LOAD = { connections: 16, seconds: SECONDS };

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[];
  samples: number[];
  timeDeltas: number[];
  startTime: number;
}

const { trades, out } = readOptions(
  "generate -- profile",
  "bench/results/profile",
  "Writes where the processor time of an answer goes, by V8's profiler.",
  { trades: ["how many trades, a multiple of 20", 100_000, 20_000] },
);

await using stack = new AsyncDisposableStack();
const folder = await mkdtemp(join(tmpdir(), "dex-profile-"));
stack.defer(() => rm(folder, { recursive: true, force: true }));
const server = await openServer();
stack.defer(() => server.stop());
const url = await makeData(server, trades);
const run = await runOf("", server.url);
const client = await connect(url, { role: "dex_reader" });
const [page] = graphqlCases(await readFacts(client).finally(() => client.end()));
if (page === undefined) throw new Error("there is no page of GraphQL");

// A profile is written where its process ends by itself.
process.env["NODE_OPTIONS"] =
  `--cpu-prof --cpu-prof-dir=${folder} --import=data:text/javascript,process.once("SIGTERM",()=>process.exit())`.replaceAll(
    '"',
    "%22",
  );
const recorded = await recordPages(url, [
  { name: page.operation, request: graphqlRequest(byId(page)) },
]);
const { service, cached, handWritten, sameDuties } = await startAsking(url, recorded, stack);
delete process.env["NODE_OPTIONS"];
const CONTENDERS = {
  "this service": service,
  "by hand": handWritten,
  "by hand, the same duties": sameDuties,
  "this service, from memory": cached,
};
const CASES = [
  // Without the page by an id, which is as the one before it.
  ...restCases(trades).slice(0, -1),
  { name: page.name, request: graphqlRequest(page) },
];

interface Asked {
  name: string;
  contender: string;
  pid: number;
  from: number;
  to: number;
  answers: number;
}
const asked: Asked[] = [];
/** Microseconds, of the clock that V8 has. */
const now = (): number => Number(process.hrtime.bigint() / 1000n);
for (const [contender, running] of Object.entries(CONTENDERS)) {
  for (const { name, request } of CASES) {
    await askFor(running.url, request, { ...LOAD, seconds: SECONDS / 2 });
    const from = now();
    const { latencies } = await askFor(running.url, request, LOAD);
    asked.push({ name, contender, pid: running.pid, from, to: now(), answers: latencies.length });
  }
}
await Promise.all([service, cached, handWritten, sameDuties].map((running) => running.stop()));

const columns: { title: string; parts: Map<string, number> }[] = [];
for (const { name, contender, pid, from, to, answers } of asked) {
  // CPU.20261127.184309.6765.0.001.cpuprofile
  const file = (await readdir(folder)).find((one) => one.split(".")[3] === String(pid));
  const profile = JSON.parse(await readFile(join(folder, file ?? ""), "utf8")) as Profile;
  const parts = partsBetween(profile, from, to);
  for (const [part, time] of parts) parts.set(part, time / answers);
  columns.push({ title: `${name}: ${contender}`, parts });
}
const names = [...new Set(columns.flatMap(({ parts }) => [...parts.keys()]))].sort();
const shown = (value = 0): string => (value < 0.5 ? "" : value.toFixed(0));
const totalOf = ({ parts }: (typeof columns)[0]): number =>
  [...parts.values()].reduce((sum, each) => sum + each, 0);
await publish(out, [
  "# Where the time of an answer goes",
  runLines(
    { ...run, command: "npm run generate -- profile" },
    `${trades} trades, ${LOAD.connections} connections; V8's profiler takes a sample each millisecond for ${SECONDS} s, after half of that`,
  ),
  "Microseconds of the server's thread an answer, without those in which it waits. The profiler itself takes some of them.",
  ...CASES.map(({ name }) => {
    const own = columns.filter(({ title }) => title.startsWith(`${name}: `));
    const rows = names
      .map((part) => [part, ...own.map(({ parts }) => shown(parts.get(part)))])
      .filter(([, ...values]) => values.some((value) => value !== ""));
    return `## ${name.startsWith("/") ? `\`${name}\`` : name}\n\n${table(
      ["", ...own.map(({ title }) => title.slice(name.length + 2))],
      [...rows, ["**all**", ...own.map((one) => `**${totalOf(one).toFixed(0)}**`)]],
    )}`;
  }),
]);

/** Microseconds of each part between two moments. */
function partsBetween(profile: Profile, from: number, to: number): Map<string, number> {
  const parentOf = new Map<number, number>();
  for (const { id, children = [] } of profile.nodes) {
    for (const child of children) parentOf.set(child, id);
  }
  const byId = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
  const filePart = (id: number | undefined): string => {
    for (let at = id; at !== undefined; at = parentOf.get(at)) {
      const url = byId.get(at)?.url ?? "";
      const part = PARTS.find(([pattern]) => url !== "" && pattern.test(url))?.[1];
      if (part !== undefined) return part;
    }
    return "the system";
  };
  /** Whether a write is of a statement: else it is of an answer. */
  const isOfStatement = (id: number): boolean => {
    for (let at: number | undefined = id; at !== undefined; at = parentOf.get(at)) {
      if ((byId.get(at)?.url ?? "").includes("node_modules/pg/")) return true;
    }
    return false;
  };
  const partOf = (id: number): string => {
    const { functionName = "", url = "" } = byId.get(id) ?? {};
    if (WRITES.test(functionName) && url === "") {
      return isOfStatement(id) ? "writing statements to sockets" : "writing answers to sockets";
    }
    return NATIVE.get(functionName) ?? filePart(id);
  };
  const known = new Map<number, string>();
  const parts = new Map<string, number>();
  let at = profile.startTime;
  profile.samples.forEach((id, n) => {
    const took = profile.timeDeltas[n] ?? 0;
    at += took;
    if (at < from || at > to || byId.get(id)?.functionName === "(idle)") return;
    const part = known.get(id) ?? partOf(id);
    known.set(id, part);
    parts.set(part, (parts.get(part) ?? 0) + took);
  });
  return parts;
}
