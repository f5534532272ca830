// The worked example of db/examples/day on a few thousand trades, while the service is read and written to.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { migrateUnderLoad } from "../../bench/migration/measure-migration.ts";
import { doStep, readStep, STEPS } from "../../bench/migration/steps.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { runFile } from "../service.ts";

const TRADES = 3000;

let database: TestDatabase;
beforeEach(async () => {
  jest.spyOn(console, "log").mockImplementation();
  database = await makeDatabase();
  await registerMarkets(database.writer);
  // An hour apart, sixty each, and all in one transaction.
  const trades = Array.from({ length: TRADES }, (_, n) => aTrade({ hour: Math.floor(n / 60) }));
  const client = await database.writer.connect();
  await client.query("begin");
  await write(client, { trades, head: TRADES / 60 });
  await client.query("commit");
  client.release();
});
afterEach(async () => {
  await database.drop();
});

it("changes the table step by step, while every answer is right", async () => {
  const course = await migrateUnderLoad(database.url, 0.2);

  expect(course.phases.map(({ name }) => name)).toEqual(["before", ...STEPS, "after"]);
  expect(course.phases.flatMap(({ errors }) => errors)).toEqual([]);
  const answers = course.phases.flatMap(({ rest, graphql }) => [...rest, ...graphql]);
  expect(answers.length).toBeGreaterThan(0);
  // Of the trade that is 50 hours after the first; the writer's are taken back.
  const { rows } = await database.reader.query<{ day: string }>(
    "select (max(time) at time zone 'UTC')::date::text as day from dex_trade",
  );
  expect(JSON.parse(course.served)).toEqual({
    data: { allDexTrades: { nodes: [{ day: rows[0]!.day }] } },
  });
  const { rows: wrong } = await database.reader.query(
    "select from dex_trade where day is distinct from (time at time zone 'UTC')::date",
  );
  expect(wrong).toHaveLength(0);
  const { rows: states } = await database.reader.query(
    `select attribute.attnotnull, index_.indisvalid
    from pg_attribute as attribute
    cross join pg_index as index_
    where attribute.attrelid = 'dex_trade'::regclass
      and attribute.attname = 'day'
      and index_.indexrelid = 'dex_trade_day_id_idx'::regclass`,
  );
  expect(states).toEqual([{ attnotnull: true, indisvalid: true }]);
});

it("reads no row under the lock of its last step", async () => {
  for (const step of STEPS.slice(0, -1)) await doStep(database.url, step);
  const client = await database.owner.connect();
  await client.query("begin");
  await client.query(await readStep("6-contract.sql"));
  const { rows } = await client.query(
    "select seq_tup_read from pg_stat_xact_user_tables where relname = 'dex_trade'",
  );
  await client.query("commit");
  client.release();
  expect(rows).toEqual([{ seq_tup_read: "0" }]);
});

it("fills batch by batch by the command, and begun again only what is left", async () => {
  await database.owner.query(`begin; ${await readStep("1-expand.sql")}; commit`);
  const file = fileURLToPath(new URL("../../db/examples/day/2-backfill.sql", import.meta.url));
  const run = (): Promise<{ code: number | null; stdout: string; stderr: string }> =>
    runFile("db/commands/backfill.ts", { DATABASE_OWNER_URL: database.url }, [
      ...[file, "--batch", "1000", "--pause", "0"],
    ]).ended;

  expect(await run()).toMatchObject({ code: 0, stderr: "" });
  // 3,000 ids by the thousand.
  const { rows: after } = await database.owner.query<{ versions: number; unfilled: number }>(
    `select
      count(distinct xmin::text)::integer as versions,
      count(*) filter (where day is null)::integer as unfilled
    from dex_trade`,
  );
  expect(after).toEqual([{ versions: 3, unfilled: 0 }]);
  expect((await run()).stdout).toMatch(/^0 rows were updated\.$/m);
});

it("is described step by step beside its files", async () => {
  const page = await readFile(new URL("../../db/examples/day/README.md", import.meta.url), "utf8");
  const blocks = [...page.matchAll(/^ {3}```sql\n([^]*?)^ {3}```/gm)].map(([, sql]) =>
    sql!.replaceAll(/^ {3}/gm, ""),
  );
  expect(blocks).toEqual(expect.arrayContaining(await Promise.all(STEPS.map(readStep))));
});
