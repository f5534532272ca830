// docs/plans.md speaks of indexes that there are, and of no query that goes through all trades or offers.
// `npm run generate -- plans` makes it, which takes a database of 1,000,000 trades.
import { readFile } from "node:fs/promises";
import { useDatabase } from "../served.ts";

let page: string;
const database = useDatabase();
beforeAll(async () => {
  page = await readFile(new URL("../../docs/plans.md", import.meta.url), "utf8");
});

it("has the plans of ten queries, none of which reads a growing table whole", () => {
  const sections = page.split(/^## /m).slice(1);
  expect(sections).toHaveLength(10);
  for (const section of sections) expect(section).toContain("(actual rows=");
  expect(page).not.toMatch(/Seq Scan on (?:dex_trade|dex_offer|period_figure)/);
});

it("names indexes that there are", async () => {
  const named = [...page.matchAll(/(?:using|Bitmap Index Scan on) (\w+)/g)].map(([, name]) => name);
  const { rows } = await database.owner.query<{ name: string }>(
    "select relname as name from pg_class where relkind = 'i'",
  );
  expect(named.length).toBeGreaterThan(10);
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(named));
});
