// `npm run bench -- versions`: the processor time of this code beside that of another checkout, in turns.
import { resolve } from "node:path";
import { connect } from "../db/connect.ts";
import { refuse } from "../db/command-line.ts";
import { graphqlCases, readFacts, restCases } from "./cases.ts";
import { measuredBy, requestTo } from "./compare.ts";
import { startService } from "./contenders.ts";
import { makeData } from "./data/make.ts";
import { openServer } from "./data/server.ts";
import { log, readOptions, table } from "./harness.ts";
import { alternate, type Entry } from "./load/alternate.ts";
import { askFor, askOnce } from "./load/client.ts";
import type { RunningServer } from "./servers/start.ts";

const { other, settings, cases, trades, rounds, ms, connections, warm } = readOptions(
  "bench -- versions",
  "",
  `Compares the processor time of an answer with that of another checkout, whose database has the same schema.`,
  {
    other: ["the folder of the other checkout, with its packages", ""],
    settings: [
      "environment variables of this checkout's service alone, NAME=value separated by ;",
      "",
    ],
    cases: ["the part of a case's name that says which are measured, separated by ;", "/v1/prices"],
    trades: ["trades of the history, a multiple of 20", 100_000, 20_000],
    rounds: ["number of rounds; the results are their medians", 5, 1],
    ms: ["milliseconds of each measurement", 2000, 1],
    connections: ["number of keep-alive connections", 16, 1],
    warm: ["answers before the first measurement: a program gets faster while it runs", 3000, 0],
  },
);
if (other === "") refuse("--other is the folder of another checkout");

const VERSIONS = { other: resolve(other), this: resolve(import.meta.dirname, "..") };

await using stack = new AsyncDisposableStack();
const server = await openServer();
stack.defer(() => server.stop());
const url = await makeData(server, trades);
const client = await connect(url, { role: "dex_reader" });
const facts = await readFacts(client).finally(() => client.end());

const own = Object.fromEntries(
  settings.split(";").flatMap((pair) => (pair === "" ? [] : [pair.split(/=(.*)/s, 2)])),
) as Record<string, string>;

/** Of each case, by its name: one. */
const answers = new Map<string, Set<string>>();
const entries: Entry[] = [];
for (const cache of ["off", "on"] as const) {
  for (const [version, folder] of Object.entries(VERSIONS)) {
    const given = version === "this" ? own : {};
    const running = await startService(url, cache, given, `${folder}/server/main.ts`);
    stack.defer(() => running.stop());
    entries.push(...(await entriesOf(running, version, cache)));
  }
}
entries.sort((one, two) => one.case.localeCompare(two.case));
const measured = await alternate(entries, { rounds, warmUp: 1, seconds: ms / 1000, connections });
const cpu = (name: string, contender: string): number =>
  measured.find((one) => one.case === name && one.contender === contender)?.cpu ?? NaN;
const rows = [...new Set(entries.map((entry) => entry.case))].map((name) => {
  const [before, after] = [cpu(name, "other"), cpu(name, "this")];
  return [name, before.toFixed(1), after.toFixed(1), (after / before).toFixed(3)];
});
log(table(["µs of processor time an answer", "other", "this", "this / other"], rows));

async function entriesOf(running: RunningServer, version: string, cache: string): Promise<Entry[]> {
  const pages = await Promise.all(
    graphqlCases(facts).map(async (page) => ({
      name: page.name,
      request: await requestTo(running, page),
    })),
  );
  const wanted = [...restCases(trades), ...pages].filter(({ name }) =>
    cases.split(";").some((part) => name.includes(part)),
  );
  const made: Entry[] = [];
  for (const { name, request } of wanted) {
    const { status, body } = await askOnce(running.url, request);
    if (status !== 200) throw new Error(`${name}: ${version} answers ${status} and ${body}`);
    answers.set(name, (answers.get(name) ?? new Set()).add(body));
    if (answers.get(name)?.size !== 1) throw new Error(`${name}: ${version} answers otherwise`);
    for (let had = 0; had < warm;) {
      had += (await askFor(running.url, request, { connections, seconds: 0.5 })).latencies.length;
    }
    made.push({
      case: `${name}, cache ${cache}`,
      contender: version,
      match: "versions",
      ...measuredBy(running, request),
    });
  }
  return made;
}
