// `npm run generate -- plans`: writes docs/plans.md, PostgreSQL's plans for the most frequent requests at 1,000,000
// trades. `-- --trades 100000 --out FILE` to try it.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import prettier from "prettier";
import { connect, makePool } from "../db/connect.ts";
import { makeApp } from "../server/compose.ts";
import { graphqlCases, readFacts, restCases } from "../bench/cases.ts";
import { requestTo } from "../bench/compare.ts";
import { makeData } from "../bench/data/make.ts";
import { openServer } from "../bench/data/server.ts";
import { log, readOptions, whole } from "../bench/harness.ts";
import { explainPrepared } from "../test/explain.ts";
import { askOnce } from "../bench/load/client.ts";
import type { BenchRequest } from "../bench/load/wire-request.ts";
import { recordStatements } from "../bench/servers/recorded-page.ts";

/** The rows that each REST case reads, in the order of the cases. */
const REST_READS = [
  "One row of `market_figure` per market. No trades or offers.",
  "One row of `market_figure`, found by the two symbols of the market. No trades or offers.",
  "One row of `market_figure` per market. No trades or offers.",
  "100 entries of the index by market and id, newest first, and their rows.",
  "The same from `fromId` on: newer trades are not read.",
];
const GRAPHQL_READS: Record<string, string> = {
  Page: "100 entries of the index by market and id, from its end, and their rows.",
  PageAndTotal:
    "The same page, and the newest id and the epoch. They show the service whether its cached count is still correct.",
  MarketAndTaker: "100 entries of the index by market, taker and id, and their rows.",
  CursorPageDeep:
    "100 entries of the index by market and id after the cursor: as many as for the first page.",
  EitherWay:
    "100 entries of the index by the key of the two tokens and id, newest first, within the ids of the day.",
};

const OPTIONS = "analyze, costs off, timing off, summary off, buffers off";

/** Lines of a plan that vary from run to run. */
const VARYING = /^ *(?:Sort Method|Full-sort Groups|Storage|Buckets|Heap Fetches|Index Searches):/;

interface Explained {
  title: string;
  reads: string;
  plans: string[];
}

const { trades, out } = readOptions(
  "generate -- plans",
  fileURLToPath(new URL("../docs/plans.md", import.meta.url)),
  "Writes docs/plans.md: PostgreSQL's plans of what clients ask most.",
  { trades: ["how many trades, a multiple of 20", 1_000_000, 20_000] },
);

const server = await openServer();
try {
  const page = pageOf(await explainAll(await makeData(server, trades)));
  await writeFile(
    out,
    await prettier.format(page, { parser: "markdown", printWidth: 100, proseWrap: "always" }),
  );
  log(`See ${out}`);
} finally {
  await server.stop();
}

async function explainAll(url: string): Promise<Explained[]> {
  await using stack = new AsyncDisposableStack();
  const pool = makePool(url, { role: "dex_reader", poolSize: 2 });
  stack.defer(() => pool.end());
  const sent = recordStatements(pool, /\bdex_(?:trade|market|price|volume)\b|market_trade/);
  const { server: http, close } = await makeApp({ pools: { rest: pool } });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  stack.defer(close);
  const { port } = http.address() as { port: number };
  const service = { url: `http://127.0.0.1:${port}` };

  const explained = async (request: BenchRequest): Promise<string[]> => {
    // The first request fills the cache of row counts; the second shows the statements of every other.
    for (let time = 0; time < 2; time += 1) {
      sent.length = 0;
      const { status, body } = await askOnce(service.url, request);
      if (status !== 200 || body.includes('"errors"')) throw new Error(body);
    }
    const plans: string[] = [];
    // Iterate over a copy, because the `explain` statements go through the same pool and are recorded too.
    for (const statement of [...sent]) {
      const lines = await explainPrepared<string>(pool, statement, OPTIONS);
      plans.push(withoutUnused(lines).join("\n"));
    }
    return plans;
  };

  const all: Explained[] = [];
  for (const [at, { name, request }] of restCases(trades).entries()) {
    all.push({
      title: `\`GET ${name}\``,
      reads: REST_READS[at] ?? "",
      plans: await explained(request),
    });
  }
  const client = await connect(url, { role: "dex_reader" });
  stack.defer(() => client.end());
  for (const page of graphqlCases(await readFacts(client))) {
    const reads = GRAPHQL_READS[page.operation];
    if (reads === undefined) continue;
    const request = await requestTo(service, page);
    all.push({ title: page.name, reads, plans: await explained(request) });
  }
  return all;
}

/** Removes varying lines, and the children of nodes that were never executed. */
function withoutUnused(lines: string[]): string[] {
  const kept: string[] = [];
  let unusedAt = Infinity;
  for (const line of lines) {
    const depth = line.search(/\S/);
    if (depth > unusedAt || VARYING.test(line)) continue;
    unusedAt = line.includes("(never executed)") ? depth : Infinity;
    kept.push(line);
  }
  return kept;
}

function pageOf(all: Explained[]): string {
  return [
    "# How PostgreSQL answers",
    "See by which index each request is answered: PostgreSQL 18's plans for the most frequent requests, at " +
      `${whole(trades)} trades of the benchmark's history in 50 markets. The statements are ` +
      "those that the service sends; each is planned once per connection, for any values. " +
      "`npm run generate -- plans` writes this page. `rows` is the number of rows that a node returned per execution, `loops` " +
      "the number of executions. Nodes below one that was never executed are left out, as are costs and times, " +
      "which vary. `test/plans.slow.ts` checks that the service reads no more than the page.",
    ...all.flatMap(({ title, reads, plans }) => [
      `## ${title}`,
      reads,
      ...plans.map(
        (plan) => `<details><summary>Plan</summary>\n\n\`\`\`\n${plan}\n\`\`\`\n\n</details>`,
      ),
    ]),
  ]
    .join("\n\n")
    .concat("\n");
}
