// `npm run bench:pages`: counts the 8 kB pages that PostgreSQL accesses for each REST endpoint, on a long and a
// short history. Unlike times, the counts do not depend on the load of the machine.
// `-- --trades 10000000`; the result goes to results/pages.md, or to --out.
import { writeFile } from "node:fs/promises";
import prettier from "prettier";
import { makePool, type Pool } from "../db/connect.ts";
import { explainPrepared } from "../test/explain.ts";
import { everyEndpoint } from "./cases.ts";
import { makeData } from "./data/make.ts";
import { openServer } from "./data/server.ts";
import { historyOptions } from "./history-options.ts";
import type { BoundStatement } from "./load/pgbench.ts";

const FEW_TRADES = 100_000;

const { trades, out } = historyOptions(
  `Usage: npm run bench:pages -- [options]

Counts the pages of 8 kB that PostgreSQL reads for each endpoint of REST, on a long and a short history.`,
  new URL("results/pages.md", import.meta.url),
);

const server = await openServer(process.env, console.log);
try {
  const many = await pagesOf(await makeData(server, trades, console.log));
  const few = await pagesOf(await makeData(server, FEW_TRADES, console.log));
  await writeFile(out, await prettier.format(report(many, few), { parser: "markdown" }));
  console.log(`See ${out}`);
} finally {
  await server.stop();
}

/** The pages accessed by the prepared statement of each endpoint. */
async function pagesOf(databaseUrl: string): Promise<Map<string, number>> {
  const pool = makePool(databaseUrl, { role: "dex_reader", poolSize: 1 });
  try {
    const pages = new Map<string, number>();
    for (const { name, statement } of await everyEndpoint()) {
      // The first execution also reads the catalogs, so count the second.
      await pagesOfOne(pool, statement);
      pages.set(name, await pagesOfOne(pool, statement));
    }
    return pages;
  } finally {
    await pool.end();
  }
}

interface Explained {
  Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number };
}

async function pagesOfOne(pool: Pool, statement: BoundStatement): Promise<number> {
  const [explained] = await explainPrepared<[Explained]>(
    pool,
    statement,
    "analyze, buffers, format json",
  );
  if (explained === undefined) throw new Error(`no plan of ${statement.text}`);
  const [{ Plan: plan }] = explained;
  return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
}

function report(many: Map<string, number>, few: Map<string, number>): string {
  const rows = [...many].map(([name, pages]) => {
    const before = few.get(name) ?? 0;
    return `| \`${name}\` | ${before} | ${pages} | ${(pages / before).toFixed(2)} × |`;
  });
  return [
    "# Page accesses on a long and a short history",
    "",
    `- by \`npm run bench:pages -- --trades ${trades}\``,
    "- accesses to 8 kB pages of tables and indexes for one answer, repeated accesses included",
    "",
    `| endpoint | ${FEW_TRADES.toLocaleString("en")} trades | ${trades.toLocaleString("en")} trades | |`,
    "| --- | --: | --: | --: |",
    ...rows,
    "",
    "The increase comes from the height of the indexes: each lookup passes one more level.",
    "",
  ].join("\n");
}
