// totalCount of a journal equals SQL's count(*), and counts only the entries that are new.
import { randomBytes } from "node:crypto";
import { Client, Pool } from "pg";
import { makeSchema } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafast } from "postgraphile/grafast";
import { makeV4Preset } from "postgraphile/presets/v4";
import { PostGraphileConnectionFilterPreset } from "postgraphile-plugin-connection-filter";
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
  create table journal.author (name text primary key, rank integer not null);
  create table journal.post (id bigint primary key, author text not null references journal.author, title text);
  create index on journal.post (author);
  create function journal.post_rank(post journal.post) returns integer stable language sql
  as 'select rank from journal.author where name = post.author';
  comment on table journal.post is '@appendOnly journal.version';
  create table journal.secret (id bigint primary key, owner text not null);
  alter table journal.secret enable row level security;
  create policy own on journal.secret using (owner in ('all', current_setting('journal.user')));
  comment on table journal.secret is '@appendOnly journal.version';
`;

type Answer = Promise<{ totalCount: number; nodes?: { id: string }[] }>;

const name = `journal_${randomBytes(6).toString("hex")}`;
let admin: Client;
let pool: Pool;
let ask: (list: string, context?: Partial<Grafast.Context>) => Answer;
const logged: unknown[] = [];
/** Of the next request. */
let settings: Record<string, string> = {};

beforeAll(async () => {
  admin = new Client({ connectionString: CLUSTER });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(CLUSTER);
  url.pathname = `/${name}`;
  pool = new Pool({ connectionString: url.href });
  await pool.query(SCHEMA);
  const { schema, resolvedPreset } = await makeSchema({
    extends: [makeV4Preset({ simpleCollections: "omit" }), PostGraphileConnectionFilterPreset],
    plugins: [makeAppendOnlyPlugin((error) => logged.push(error)), makeTotalCountPlugin()],
    pgServices: [makePgService({ pool, schemas: ["journal"], pgSettings: () => settings })],
    schema: { connectionFilterRelations: true, defaultBehavior: "+filterBy" },
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

// Posts 1 to 4 are of ann, of rank 1, and posts 5 and 6 of bob, of rank 2.
it.each([
  ["a filter through a relation", "{ authorByAuthor: { rank: { equalTo: 1 } } }"],
  [
    "one within others",
    '{ or: [{ author: { equalTo: "none" } }, { not: { authorByAuthor: { rank: { equalTo: 2 } } } }] }',
  ],
  ["a filter on a function", "{ rank: { equalTo: 1 } }"],
])("counts anew for %s, whose other table changes without the epoch", async (_name, filter) => {
  await pool.query(`
    truncate journal.author, journal.post;
    insert into journal.author values ('ann', 1), ('bob', 2);
    insert into journal.post select id, case when id < 5 then 'ann' else 'bob' end from generate_series(1, 6) as id`);
  const list = `allPosts(filter: ${filter}) { nodes { id } totalCount }`;
  expect((await ask(list)).totalCount).toBe(4);
  await pool.query("update journal.author set rank = 3 - rank");
  expect((await ask(list)).totalCount).toBe(2);
  // The version of the posts says nothing of the authors.
  const reports: boolean[] = [];
  const attempt: PageAttempt = { report: (isOfPage) => reports.push(isOfPage) };
  await ask(list, { isOnePage: true, attempt });
  expect(reports).toEqual([false]);
});

it("keeps the count of a filter of the table's own columns", async () => {
  const filter =
    '(filter: { or: [{ not: { topic: { equalTo: "odd" } } }, { title: { isNull: true } }] })';
  // 2, 4 and 6, and 3 has no title.
  expect(await total(filter)).toBe(4);
  await pool.query("delete from journal.entry where id = 2");
  expect(await total(filter)).toBe(4);
});

it("leaves a table with row level security to PostGraphile, and logs it", async () => {
  await pool.query(`
    truncate journal.secret;
    insert into journal.secret values (1, 'ann'), (2, 'ann'), (3, 'bob'), (4, 'all');
    create role ${name};
    grant usage on schema journal to ${name};
    grant select on all tables in schema journal to ${name}`);
  const totalOf = async (user: string): Promise<number> => {
    settings = { role: name, "journal.user": user };
    return (await ask("allSecrets { totalCount }")).totalCount;
  };
  try {
    expect(await totalOf("ann")).toBe(3);
    expect(await totalOf("bob")).toBe(2);
    expect(await totalOf("eve")).toBe(1);
  } finally {
    settings = {};
    await pool.query(`drop owned by ${name}; drop role ${name}`);
  }
  expect(logged).toContainEqual(
    expect.objectContaining({
      message: expect.stringMatching(/^@appendOnly of secret is ignored: .*row level security/),
    }),
  );
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
  expect(logged).toContainEqual(
    expect.objectContaining({
      message: expect.stringMatching(/^@appendOnly of draft is ignored: /),
    }),
  );
});
