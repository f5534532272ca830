// GraphQL follows the database's schema while it serves, with no right but the reader's.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { makeTestApp } from "../app.ts";
import { makeDatabase, openClient } from "../database.ts";
import { exchange, graphql } from "../exchange-http.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { ask, dataOf } from "../graphql.ts";
import { catalogState } from "../../graphql/schema-watch.ts";
import { serveDatabase } from "../served.ts";

const told: string[] = [];
const { app, database } = serveDatabase(
  async (writer) => {
    await registerMarkets(writer);
    await write(writer, { trades: [aTrade({ id: 1 })], head: 24 });
  },
  { watch: { info: (line) => told.push(line) } },
);
beforeAll(async () => {
  await dataOf(app, "{ __typename }");
});
afterEach(async () => {
  await migrate("drop table if exists note");
});

/** Changes the schema, and waits until the service has said what has become of it. */
async function migrate(sql: string): Promise<string> {
  const before = await catalogState(database.owner);
  const heard = told.length;
  await database.owner.query(sql);
  if ((await catalogState(database.owner)) === before) return "";
  while (told.length === heard) await sleep(20);
  return told.at(-1)!;
}

const NOTE = `
  create table note (id integer primary key, body text not null);
  comment on table note is 'What somebody has noted.';
  grant select on note to dex_reader;
`;

it("shows a new table, its comment and its rows, without a restart, within the limits", async () => {
  const query = "{ allNotes { nodes { body } } }";
  expect((await ask(app, query)).errors).toHaveLength(1);

  expect(await migrate(`${NOTE} insert into note values (1, 'seen')`)).toBe(
    "The database's schema has changed: GraphQL shows it as it is now.",
  );

  expect(await dataOf(app, query)).toEqual({ allNotes: { nodes: [{ body: "seen" }] } });
  expect(await dataOf(app, '{ __type(name: "Note") { description } }')).toEqual({
    __type: { description: "What somebody has noted." },
  });
  // The limits hold for it too.
  const { errors } = await ask(app, "{ allNotes(first: 1001) { nodes { id } } }");
  expect(errors?.[0]?.extensions?.["code"]).toBe("PAGE_TOO_LARGE");
});

it("sees comments, grants, indexes and functions that come and go, and no data", async () => {
  await using quiet = await makeDatabase();
  const { owner } = quiet;
  await owner.query(NOTE);
  const changes = [
    "comment on column note.body is 'Its text.'",
    "revoke select on note from dex_reader",
    "grant select on note to dex_reader",
    "create index note_body_id_idx on note (body, id)",
    "create function note_length(note) returns integer stable language sql return length($1.body)",
    "drop function note_length(note)",
    "alter table note add column author text",
    "alter table note rename column author to writer",
    "alter table note drop column writer",
    "create type mood as enum ('glad')",
    "alter type mood add value 'sad'",
    "alter table note add constraint note_body_check check (body <> '')",
  ];
  let state = await catalogState(owner);
  for (const change of changes) {
    await owner.query(change);
    const changed = await catalogState(owner);
    expect([change, changed]).not.toEqual([change, state]);
    state = changed;
  }

  await owner.query("insert into note select n, 'x' from generate_series(1, 2000) as n");
  await owner.query("analyze note");
  await owner.query("vacuum note");
  await using another = await openClient(quiet.url);
  await another.query("create temporary table passing (id integer)");
  expect(await catalogState(owner)).toBe(state);
  // Tests beside this one make logins in the same cluster.
  const login = `login_${randomUUID().replaceAll("-", "")}`;
  await using admin = await openClient(database.url);
  await admin.query(`create role ${login} login in role dex_reader`);
  expect(await catalogState(owner)).toBe(state);
  await admin.query(`drop role ${login}`);
});

it("forgets what it answered by the schema before", async () => {
  const introspect = '{ __type(name: "DexToken") { fields { name } } }';
  const names = async (): Promise<string[]> => {
    const { __type } = await dataOf<{ __type: { fields: { name: string }[] } }>(app, introspect);
    return __type.fields.map(({ name }) => name);
  };
  await database.owner.query("alter table dex_token add column website text");
  // Between the change and the new schema, the old one answers, and its answer is kept.
  const heard = told.length;
  while (told.length === heard) {
    await names();
    await sleep(5);
  }
  expect(await names()).toContain("website");

  await migrate("alter table dex_token drop column website");
  expect(await names()).not.toContain("website");
});

it("counts afresh under a column that has become another", async () => {
  const count = async (): Promise<number> => {
    const query = '{ allDexTrades(condition: { note: "a" }) { totalCount } }';
    return (await dataOf(app, query)).allDexTrades.totalCount;
  };
  await migrate("alter table dex_trade add column note text default 'a'");
  expect(await count()).toBe(1);

  await migrate(
    "alter table dex_trade drop column note; alter table dex_trade add column note text default 'b'",
  );

  expect(await count()).toBe(0);
  await migrate("alter table dex_trade drop column note");
});

describe("the order of a new index", () => {
  /** Each on a column of its own: by which columns, what is asked, and how PostgreSQL is asked. */
  const SERVED = [
    ["whose columns cannot be null", "(plain, id)", "PLAIN BLOCK", "plain, id"],
    [
      "of a text that can be null, by coalesce",
      "(coalesce(label, ''), id)",
      "LABEL",
      "coalesce(label, ''), id",
    ],
    ["that runs backwards", "(back desc, id desc)", "BACK BLOCK", "back, id"],
    ["that holds more than its key", "(holding, id) include (price)", "HOLDING", "holding, id"],
  ] as const;
  const UNSERVED = [
    ["of a number that can be null", "(digit, id)", "DIGIT"],
    ["of a text that can be null, by itself", "(itself, id)", "ITSELF"],
    ["by another expression", "(coalesce(other, 'none'), id)", "OTHER"],
    ["that runs both ways", "(turned desc, id)", "TURNED"],
    ["of some rows", "(part, id) where block > 0", "PART"],
    ["of another collation", '(collated collate "POSIX", id)', "COLLATED"],
    ["for patterns", "(pattern text_pattern_ops, id)", "PATTERN"],
    ["that is no b-tree", "using brin (brin, id)", "BRIN"],
    ["that does not end in the primary key", "(ending, block)", "ENDING"],
    ["that holds what the primary key tells", "(told, block, id)", "TOLD"],
  ] as const;
  const NULLABLE = ["label", "itself", "other"];
  const KNOWN = "plain back holding turned part collated pattern brin ending told".split(" ");
  beforeAll(() =>
    migrate(
      [
        ...NULLABLE.map((name) => `alter table dex_trade add column ${name} text`),
        ...KNOWN.map((name) => `alter table dex_trade add column ${name} text not null default ''`),
        "alter table dex_trade add column digit integer",
        ...[...SERVED, ...UNSERVED].map(
          ([, columns], index) => `create index later_${index}_idx on dex_trade ${columns}`,
        ),
      ].join(";"),
    ),
  );
  afterAll(() =>
    migrate(
      [...NULLABLE, ...KNOWN, "digit"]
        .map((name) => `alter table dex_trade drop column ${name}`)
        .join(";"),
    ),
  );

  const ordered = (names: string, direction: string): string => {
    const by = names.split(" ").map((name) => `${name}_${direction}`);
    return `{ allDexTrades(orderBy: [${by.join()}]) { nodes { id } } }`;
  };

  it.each(SERVED)("is offered for one %s, and PostgreSQL reads by it", async (...served) => {
    const [, columns, names, order] = served;
    for (const direction of ["ASC", "DESC"]) {
      const { allDexTrades } = await dataOf(app, ordered(names, direction));
      expect(allDexTrades.nodes).toHaveLength(1);

      const client = await database.owner.connect();
      await client.query("begin; set local enable_sort = off; set local enable_seqscan = off");
      const { rows } = await client.query<{ "QUERY PLAN": string }>(
        `explain select id from dex_trade order by ${order.replaceAll(/, (?!')/g, ` ${direction}, `)} ${direction}`,
      );
      await client.query("rollback");
      client.release();
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect([columns, plan]).toEqual([
        columns,
        expect.stringContaining(`later_${SERVED.findIndex(([, one]) => one === columns)}_idx`),
      ]);
      expect(plan).not.toContain("Sort");
    }
  });

  it.each(UNSERVED)("is not offered for one %s", async (_, _columns, names) => {
    const { errors } = await ask(app, ordered(names, "ASC"));
    expect(errors?.[0]?.message).toMatch(new RegExp(`"${names}_ASC" does not exist`));
  });
});

it("serves on as it was where the new schema cannot be shown, and says why", async () => {
  await migrate(NOTE);
  const line = await migrate("comment on table note is E'@name dexToken\\nTwo of a name.'");

  expect(line).toMatch(/^The database's schema has changed, and cannot be shown: .*dexToken/);
  expect(line).toMatch(/GraphQL stays as it was\.$/);
  expect((await ask(app, "{ allNotes { totalCount } allDexTokens { totalCount } }")).status).toBe(
    200,
  );
  expect(await migrate("comment on table note is 'One of a name.'")).toBe(told[0]);
});

it("informs browsers of a change, and lets go of them when it stops", async () => {
  const own = await makeTestApp(database.reader, {
    watch: { info: (line) => told.push(line) },
  });
  const { headers } = await exchange(own.url, graphql({ query: "{ __typename }" }));
  expect(headers[headers.findIndex((name) => /^x-graphql-event-stream$/i.test(name)) + 1]).toBe(
    "/graphql/stream",
  );

  const stream = await fetch(`${own.url}/graphql/stream`, {
    headers: { Accept: "text/event-stream" },
  });
  expect(stream.status).toBe(200);
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  const events = stream.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  let heard = "";
  const until = async (event: string): Promise<void> => {
    while (!heard.includes(event)) heard += (await events.next()).value ?? "";
  };
  await until("event: open");
  await migrate(NOTE);
  await until("event: change");

  // An open page does not hold up the stop.
  await own.close();
  expect((await events.next()).done).toBe(true);
});

it("has no stream, and nothing that watches, unless it is asked to", async () => {
  await using still = await makeTestApp(database.reader);
  const { status, headers } = await exchange(still.url, { path: "/graphql/stream" });
  expect(status).toBe(404);
  expect(headers.join()).not.toMatch(/event-stream/i);
});
