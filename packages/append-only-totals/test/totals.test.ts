// totalCount of a journal equals SQL's count(*), and counts only the entries that are new.
import { randomBytes } from "node:crypto";
import { Client, Pool } from "pg";
import { makeSchema } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafast } from "postgraphile/grafast";
import { makeV4Preset } from "postgraphile/presets/v4";
import { makeAppendOnlyPlugin, makeTotalCountPlugin, type PageAttempt } from "../index.ts";

/** A server whose superuser makes databases. */
const CLUSTER = process.env["TEST_CLUSTER_URL"] ?? "";

const SCHEMA = `
  create schema journal;
  create table journal.version (epoch integer not null);
  insert into journal.version values (0);
  create table journal.entry (id bigint primary key, topic text not null, title text);
  create index on journal.entry (topic);
  comment on table journal.entry is '@appendOnly journal.version';
  create table journal.draft (name text primary key);
  comment on table journal.draft is '@appendOnly journal.version';
`;

type Answer = Promise<{ totalCount: number; nodes?: { id: string }[] }>;

const name = `journal_${randomBytes(6).toString("hex")}`;
let admin: Client;
let pool: Pool;
let ask: (list: string, context?: Partial<Grafast.Context>) => Answer;
const logged: unknown[] = [];

beforeAll(async () => {
  admin = new Client({ connectionString: CLUSTER });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(CLUSTER);
  url.pathname = `/${name}`;
  pool = new Pool({ connectionString: url.href });
  await pool.query(SCHEMA);
  const { schema, resolvedPreset } = await makeSchema({
    extends: [makeV4Preset({ simpleCollections: "omit" })],
    plugins: [makeAppendOnlyPlugin((error) => logged.push(error)), makeTotalCountPlugin()],
    pgServices: [makePgService({ pool, schemas: ["journal"] })],
  });
  ask = async (list, contextValue = {}) => {
    const source = `{ list: ${list} }`;
    const common = { schema, source, resolvedPreset, requestContext: {} };
    const result = await grafast({ ...common, contextValue });
    expect(result).not.toHaveProperty("errors");
    return (result as unknown as { data: { list: Awaited<Answer> } }).data.list;
  };
});
afterAll(async () => {
  await pool.end();
  await admin.query(`drop database ${name}`);
  await admin.end();
});
beforeEach(async () => {
  await pool.query("truncate journal.entry; update journal.version set epoch = epoch + 1");
  await append(1, 6);
});

/** Entries whose topics are "even" and "odd". */
const append = (from: number, to: number): Promise<unknown> =>
  pool.query(
    `insert into journal.entry
    select id, case id % 2 when 0 then 'even' else 'odd' end, nullif(id, 3)::text
    from generate_series($1::bigint, $2::bigint) as id`,
    [from, to],
  );

const total = async (args = ""): Promise<number> =>
  (await ask(`allEntries${args} { totalCount }`)).totalCount;

it.each([
  ["", "true"],
  ['(condition: { topic: "odd" })', "topic = 'odd'"],
  ['(condition: { topic: "none" })', "topic = 'none'"],
  ["(condition: { title: null })", "title is null"],
  ['(condition: { topic: "even" }, first: 1, orderBy: ID_DESC)', "topic = 'even'"],
])("equals SQL's count for %s, before and after entries are appended", async (args, where) => {
  const inSql = async (): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::integer as count from journal.entry where ${where}`,
    );
    return rows[0]!.count;
  };
  expect(await total(args)).toBe(await inSql());
  await append(7, 11);
  expect(await total(args)).toBe(await inSql());
  expect(await total(args)).toBe(await inSql());
});

it("reads no entry again that it has counted, until the epoch grows", async () => {
  expect(await total()).toBe(6);
  // What the tag forbids shows what is read.
  await pool.query("delete from journal.entry where id = 1");
  await append(7, 8);
  expect(await total()).toBe(8);
  await pool.query("update journal.version set epoch = epoch + 1");
  expect(await total()).toBe(7);
});

it("counts again after the newest entries were deleted", async () => {
  expect(await total()).toBe(6);
  await append(7, 8);
  expect(await total()).toBe(8);
  await pool.query("delete from journal.entry where id > 5");
  expect(await total()).toBe(5);
  await append(9, 9);
  expect(await total()).toBe(6);
});

it("reports whether the total beside a page is of the page's version", async () => {
  const reports: boolean[] = [];
  const attempt: PageAttempt = { report: (isOfPage) => reports.push(isOfPage) };
  const page = "allEntries(last: 2) { nodes { id } totalCount }";
  for (const newest of [6, 7]) {
    await append(newest + 1, newest + 1);
    const { nodes, totalCount } = await ask(page, { isOnePage: true, attempt });
    expect(nodes?.map(({ id }) => id)).toEqual([String(newest), String(newest + 1)]);
    expect(totalCount).toBe(newest + 1);
  }
  expect(reports).toEqual([true, true]);
  // An empty page has no version.
  await ask("allEntries(first: 0) { nodes { id } totalCount }", { isOnePage: true, attempt });
  expect(reports).toEqual([true, true, false]);
});

it("logs a tag that is invalid, and leaves its table to PostGraphile", async () => {
  await pool.query("insert into journal.draft values ('a'), ('b')");
  expect((await ask("allDrafts { totalCount }")).totalCount).toBe(2);
  expect(logged).toEqual([
    expect.objectContaining({
      message: expect.stringMatching(/^@appendOnly of draft is ignored: /),
    }),
  ]);
});
