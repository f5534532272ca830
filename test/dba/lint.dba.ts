// npm run db:lint rejects a migration that would block readers, remove something they use or expose something
// without a description, and names the safe alternative, which it accepts.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { lintMigration, type LintFinding, type LintResult } from "../../db/lint/lint-migrations.ts";
import { readReaders, type Readers } from "../../db/lint/readers.ts";
import { LintShadow } from "../../db/lint/lint-shadow.ts";
import { findNotAllowed } from "../../db/lint/allowed.ts";
import { KnownFunctions } from "../../db/lint/functions.ts";
import { reportLines } from "../../db/lint/lint-report.ts";
import { readStatements } from "../../db/lint/statements.ts";
import { answeredPage } from "../answered-page.ts";
import { lostBetween, sdlReader } from "../../graphql/schema/sdl.ts";
import { clusterUrl } from "../database.ts";
import { copyRepository, type RepositoryCopy } from "../repository-copy.ts";
import { runFile, type Ended } from "../service.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const COMMITTED = join(REPOSITORY, "db/migrations/committed");

/** What an earlier migration has made. */
const EARLIER = `
  create function dex_private.refuse_change() returns trigger language plpgsql
  as $$ begin raise exception 'refused'; end $$;
  -- db:lint allow trigger: for these tests.
  create trigger refuse_change before delete on dex_trade
  for each row execute function dex_private.refuse_change();
  create table dex_private.unused (id integer generated always as identity primary key, note text);
  create function dex_private.unused(note text) returns text language sql immutable as 'select note';
  create index unused_note_idx on dex_private.unused (note);
  create materialized view dex_private.daily as select 1 as id;
  create unique index daily_id_idx on dex_private.daily (id);`;

const shadows: LintShadow[] = [];
let shadow: LintShadow;
let readers: Readers;

/** A shadow database with the committed migrations and these. */
async function makeShadow(...migrations: string[]): Promise<LintShadow> {
  const made = new LintShadow({ shadow: clusterUrl(), root: clusterUrl() });
  shadows.push(made);
  await made.reach((await readdir(COMMITTED)).sort());
  for (const text of migrations) {
    const files = [{ file: "0.sql", text: `${PATIENT} ${text}` }];
    expect(await lintMigration(files, { shadow: made, readers, keep: true })).toMatchObject({
      findings: [],
    });
  }
  return made;
}

beforeAll(async () => {
  readers = await readReaders();
  shadow = await makeShadow(EARLIER);
});
afterAll(async () => {
  for (const made of shadows) await made.drop();
});

const lintAsItIs = (text: string, ...more: string[]): Promise<LintResult> =>
  lintMigration(
    [text, ...more].map((one, index) => ({ file: `${index + 1}.sql`, text: one })),
    { shadow, readers },
  );

const PATIENT = "set local lock_timeout = '200ms';";

/** The same SQL after `set local lock_timeout`. */
const lint = (text: string, ...more: string[]): Promise<LintResult> =>
  lintAsItIs(text.startsWith("--! no-transaction") ? text : `${PATIENT} ${text}`, ...more);

/** The findings of each statement, which is linted as a migration of its own. */
const lintEach = async (statements: string[]): Promise<LintFinding[][]> => {
  const found: LintFinding[][] = [];
  for (const sql of statements) found.push((await lint(`${sql};`)).findings);
  return found;
};

/** The rules that reject the SQL, in the order of its statements. */
const rulesOf = async (text: string): Promise<string[]> =>
  (await lint(text)).findings.map(({ rule }) => rule);

const TABLE = `create table dex_note (id integer primary key, note text not null);
comment on table dex_note is 'A note.';
comment on column dex_note.id is 'Its number.';
comment on column dex_note.note is 'What it says.';
grant select on dex_note to dex_reader;`;

/** Each alone is refused by its rule, with the safe way. */
function itRejects(refused: readonly (readonly [sql: string, rule: string])[]): void {
  let found: LintFinding[][];
  beforeAll(async () => {
    found = await lintEach(refused.map(([sql]) => sql));
  });

  it.each(refused.map(([sql, rule], index) => [sql, rule, index] as const))(
    "rejects %s",
    (_, rule, index) => {
      expect(found[index]!.map((finding) => finding.rule)).toEqual([rule]);
      expect(found[index]![0]!.instead).toMatch(/^[^]{30,}\.$/);
    },
  );
}

describe("locks and rewriting", () => {
  const REFUSED = [
    ["create index dex_trade_tx_note_idx on dex_trade (tx)", "require-concurrent-index-creation"],
    ["drop index dex_private.unused_note_idx", "require-concurrent-index-deletion"],
    ["reindex table dex_trade", "require-concurrent-reindex"],
    ["create index concurrently on dex_trade (tx)", "concurrently-in-transaction"],
    ["drop index concurrently dex_private.unused_note_idx", "concurrently-in-transaction"],
    ["reindex index concurrently dex_trade_taker_id_idx", "concurrently-in-transaction"],
    ["alter table dex_trade alter column lot_amt type numeric(78, 18)", "changing-column-type"],
    ["alter table dex_trade alter column market set not null", "set-not-null"],
    ["alter table dex_trade alter column idx drop not null", "ban-drop-not-null"],
    [
      "alter table dex_private.head_figure add column made timestamptz default clock_timestamp()",
      "adding-field-with-default",
    ],
    [
      "alter table dex_private.head_figure add column at timestamptz not null",
      "adding-required-field",
    ],
    [
      "alter table dex_trade add constraint dex_trade_lot_gem_fkey foreign key (lot_gem) references dex_token (address)",
      "adding-foreign-key-constraint",
    ],
    [
      "alter table dex_trade add constraint dex_trade_later_check check (block > 0)",
      "constraint-missing-not-valid",
    ],
    [
      "alter table dex_trade add constraint dex_trade_key unique (tx)",
      "disallowed-unique-constraint",
    ],
    ["lock table dex_trade", "lock-table"],
    ["vacuum full dex_trade", "rewrites-table"],
    ["cluster dex_trade using dex_trade_pkey", "rewrites-table"],
    ["alter table dex_trade set unlogged", "rewrites-table"],
    ["alter table dex_trade set tablespace other", "rewrites-table"],
    ["refresh materialized view dex_private.daily", "rewrites-table"],
    ["truncate dex_trade", "whole-table-write"],
    ["update dex_trade set market = market", "whole-table-write"],
    ["delete from dex_offer where killed > 0", "whole-table-write"],
    [
      "with gone as (delete from dex_trade where idx < 0 returning id) select count(*) from gone",
      "whole-table-write",
    ],
    [
      "with kept as (update dex_token set name = '' returning address) insert into dex_private.unused (note) select * from kept",
      "whole-table-write",
    ],
    [
      "merge into dex_token as token using dex_pair as pair on false when matched then delete",
      "whole-table-write",
    ],
    ["do $$ begin execute 'drop table dex_trade'; end $$", "unseen"],
  ] as const;
  itRejects(REFUSED);

  it("rejects validating a constraint in the migration that creates it", async () => {
    const sql = `alter table dex_trade add constraint c check (block > 0) not valid;
      alter table dex_trade validate constraint c;`;
    expect(await rulesOf(sql)).toEqual(["constraint-missing-not-valid"]);
  });

  it("accepts not null only after an earlier migration has validated a check", async () => {
    const setNotNull = "alter table dex_trade alter column market set not null;";
    const steps = [
      "alter table dex_trade add constraint c check (market is not null) not valid;",
      "alter table dex_trade validate constraint c;",
    ];
    const stands = await makeShadow();
    const rules: string[][] = [];
    for (const text of [steps[0]!, setNotNull, steps[1]!, setNotNull]) {
      const files = [{ file: "x.sql", text: `${PATIENT} ${text}` }];
      const options = { shadow: stands, readers, keep: text !== setNotNull };
      const { findings } = await lintMigration(files, options);
      rules.push(findings.map(({ rule }) => rule));
    }
    expect(rules).toEqual([[], ["set-not-null"], [], []]);
  });

  it("accepts an index created concurrently, alone and without a transaction", async () => {
    const sql = "--! no-transaction\ncreate index concurrently if not exists i on dex_trade (tx);";
    expect(await rulesOf(sql)).toEqual([]);
    expect(await rulesOf(`${sql}\ncomment on index i is 'Serves one.';`)).toEqual([
      "one-statement",
    ]);
  });

  it.each([
    ["--!no-transaction\n", "select 1; select 2;", ["transaction", "one-statement"]],
    ["\n--!\tno-transaction, for the index\n", "select 1;", ["transaction"]],
    ["--! Message: one\n\n--! no-transaction\n", "select 1;", ["transaction"]],
    [
      "-- An index.\n--! no-transaction\n",
      "create index concurrently if not exists i on dex_trade (tx);",
      ["concurrently-in-transaction"],
    ],
  ])("reads the header as graphile-migrate does: %j", async (header, sql, rules) => {
    const { findings } = await lintAsItIs(`${header}${sql}`);
    expect(findings.map(({ rule }) => rule)).toEqual(rules);
  });

  it.each([
    ["a table", "create table dex_private.n as select id from dex_trade"],
    ["a table with into", "select id into dex_private.n from dex_trade"],
    ["a view of rows", "create materialized view dex_private.n as select id from dex_offer"],
    ["new rows", "insert into dex_private.unused (note) select name from dex_token"],
    ["a table by a function", "create table dex_private.n as select * from dex_latest_head()"],
    ["a table from a view", "create table dex_private.n as select pair from dex_price"],
    ["statistics", "analyze dex_trade"],
  ])("rejects %s of what stands while a lock is held, and accepts it above", async (_, sql) => {
    const lock = "alter table dex_block add column note text;";
    const comment = "comment on column dex_block.note is 'A note.';";
    expect(await rulesOf(`${lock} ${comment} ${sql};`)).toEqual(["held-lock"]);
    expect(await rulesOf(`${sql}; ${lock} ${comment}`)).toEqual([]);
  });

  it("accepts rows of the migration's own tables while a lock is held", async () => {
    const sql = `alter table dex_block add column note text;
      comment on column dex_block.note is 'A note.';
      create table dex_private.n as select 1 as id;
      insert into dex_private.n select id + 1 from dex_private.n;`;
    expect(await rulesOf(sql)).toEqual([]);
  });

  it.each([
    "create index concurrently i on dex_trade (tx);",
    "drop index concurrently dex_private.unused_note_idx;",
  ])("rejects, without a transaction, a statement that cannot run twice: %s", async (sql) => {
    expect(await rulesOf(`--! no-transaction\n${sql}`)).toEqual(["prefer-robust-stmts"]);
  });

  it.each([
    [
      "an index, a key and rows of a table that it creates itself",
      `${TABLE}
      create index dex_note_note_idx on dex_note (note);
      insert into dex_note (id, note) values (1, 'one');
      update dex_note set note = 'two';
      alter table dex_note add constraint dex_note_key unique (note);`,
    ],
    [
      "an index and a key of a table that it creates with a query",
      `create table dex_private.note as select 1 as id;
      alter table dex_private.note add constraint note_pkey primary key (id);
      create materialized view dex_private.noted as select 1 as id;
      create index noted_id_idx on dex_private.noted (id);`,
    ],
    [
      "a function that writes, and a common table expression that reads",
      `create function dex_private.forget() returns void language sql
      begin atomic delete from dex_trade; end;
      with newest as (select max(id) as id from dex_trade) select id from newest;`,
    ],
    [
      "a constant default",
      `alter table dex_token add column listed boolean not null default false;
      comment on column dex_token.listed is 'Whether it is listed.';`,
    ],
    ["new statistics of a table", "analyze dex_trade;"],
    [
      "another default, for new rows",
      "alter table dex_pair alter column active set default false;",
    ],
    [
      "another body for a function",
      `create or replace function dex_private.unused(note text)
      returns text language sql immutable as 'select upper(note)';`,
    ],
  ])("accepts %s", async (_, sql) => {
    expect(await rulesOf(sql)).toEqual([]);
  });
});

describe("a statement that may wait for a lock", () => {
  const LOCKING = [
    "alter table dex_block add column note text",
    "alter table dex_trade add constraint c foreign key (offer_id) references dex_offer (id) not valid",
    "alter view dex_price set (security_invoker = true)",
    "create table dex_private.note (id integer primary key, offer_id integer references dex_offer (id))",
    "create trigger t before insert on dex_trade for each row execute function dex_private.refuse_change()",
    "create or replace view dex_private.last_block as select * from public.dex_block",
    "drop table dex_private.offer_left",
    "drop trigger refuse_change on dex_trade",
    "alter trigger refuse_change on dex_trade rename to refuse",
    "truncate dex_private.offer_left",
  ];
  const GENTLE = [
    "alter table dex_trade validate constraint dex_trade_idx_check",
    "alter table dex_trade set (fillfactor = 90)",
    "alter table dex_trade alter column market set statistics 1000",
    "create table dex_private.note (id integer primary key)",
    "create view dex_private.noted as select 1 as one",
    "drop function dex_private.unused(text)",
    "alter function dex_private.is_hash(text) set work_mem = '1MB'",
    "comment on column dex_trade.price is 'Quote per base.'",
    "grant select on dex_private.offer_left to dex_writer",
  ];
  const waitsOf = async (text: string): Promise<string[]> =>
    (await lintAsItIs(text)).findings
      .filter(({ rule }) => rule === "lock-timeout")
      .map(({ line, what }) => `${line} ${what}`);
  const RULE = /without limit, and later readers and writers wait behind it$/;

  it("is accepted only after `set local lock_timeout`", async () => {
    const waits: string[] = [];
    for (const sql of LOCKING) {
      waits.push(...(await waitsOf(`${sql};`)));
      expect(await waitsOf(`${PATIENT} ${sql};`)).toEqual([]);
    }
    expect(waits).toEqual(LOCKING.map(() => expect.stringMatching(RULE)));
    expect(waits[1]).toContain("its lock on public.dex_offer and public.dex_trade ");
    for (const timeout of ["200", "'200ms'", "' 5 s '", "'0.05min'"]) {
      expect(await waitsOf(`set local lock_timeout = ${timeout}; ${LOCKING[0]!};`)).toEqual([]);
    }
  });

  it.each(["10min", "5001", "6s", "600000ms", "1h", "0.1d"])(
    "is rejected after a lock_timeout of %s, for which all would wait",
    async (timeout) => {
      const waits = await waitsOf(`set local lock_timeout = '${timeout}'; ${LOCKING[0]!};`);
      expect(waits).toHaveLength(1);
      expect(waits[0]).toMatch(/dex_block for up to [\d.]+ s, and later readers and writers wait/);
    },
  );

  it("is accepted if its lock blocks no other session", async () => {
    expect(await waitsOf(GENTLE.map((sql) => `${sql};\n`).join(""))).toEqual([]);
  });

  it("is accepted on objects that the migration creates itself", async () => {
    const sql = `${TABLE} alter table dex_note add column more text; drop table dex_note;`;
    expect(await waitsOf(sql)).toEqual([]);
  });

  it.each([
    "set local lock_timeout = 0",
    "set local lock_timeout = '0ms'",
    "set local lock_timeout = '200ms'; reset lock_timeout",
    "set local statement_timeout = '200ms'",
  ])("is rejected after %s", async (sql) => {
    expect(await waitsOf(`${sql}; ${LOCKING[0]!};`)).toHaveLength(1);
  });

  it("is accepted with a reason", async () => {
    const allow = "-- db:lint allow lock-timeout: the service is told to wait.\n";
    const sql = "alter table dex_token alter column name set default '';";
    expect(await lintAsItIs(`${allow}${sql}`)).toEqual({ findings: [], overruled: 1 });
  });
});

describe("the SQL in the pages of db", () => {
  const lintInTurn = async (texts: string[]): Promise<LintFinding[][]> => {
    const stands = await makeShadow();
    const found: LintFinding[][] = [];
    for (const text of texts) {
      const files = [{ file: "x.sql", text }];
      const { findings } = await lintMigration(files, { shadow: stands, readers, keep: true });
      found.push(findings);
    }
    return found;
  };

  it("is accepted in the page about changing a large table", async () => {
    const folder = join(REPOSITORY, "db/examples/day");
    const steps = (await readdir(folder))
      .filter((name) => name.endsWith(".sql") && !name.includes("backfill"))
      .sort();
    const texts = await Promise.all(steps.map((name) => readFile(join(folder, name), "utf8")));
    expect(await lintInTurn(texts)).toEqual(texts.map(() => []));
  });

  it.each(["db/lint/README.md", "test/dba/lint-cases.md"])(
    "is refused as %s shows it; WRITE_LINT=1 writes the page",
    async (name) => {
      const page = join(REPOSITORY, name);
      const text = await readFile(page, "utf8");
      const shown = new LintShadow({ shadow: clusterUrl(), root: clusterUrl() }, sdlReader([]));
      shadows.push(shown);
      await shown.reach((await readdir(COMMITTED)).sort());
      const file = "db/migrations/current/1-current.sql";
      let sql = "";
      const answered = await answeredPage(text, {
        sql: (given) => Promise.resolve(void (sql = given)),
        run: async () => {
          const files = [{ file, text: sql }];
          const result = await lintMigration(files, { shadow: shown, readers, lostBetween });
          return reportLines({ ...result, linted: [file] }).join("\n");
        },
        ask: () => Promise.reject(new Error("there is no query on this page")),
      });
      if (process.env["WRITE_LINT"] !== undefined) await writeFile(page, answered);
      else expect(answered).toBe(text);
    },
  );

  it("never waits for a lock without a limit in the tutorial", async () => {
    const tutorial = await readFile(join(REPOSITORY, "db/tutorial.md"), "utf8");
    const texts: string[] = [];
    let current = "";
    for (const [, language, text] of tutorial.matchAll(/^```(\w+)\n([^]*?)^```$/gm)) {
      if (language === "sql" && text!.startsWith("--!")) current = text!;
      else if (language === "sql") current += text!;
      if (language !== "console" || !text!.includes("db:commit")) continue;
      texts.push(current);
      current = "";
    }
    const found = (await lintInTurn(texts)).flat();
    expect(texts.length).toBeGreaterThanOrEqual(4);
    expect(found.filter(({ rule }) => rule === "lock-timeout")).toEqual([]);
  });
});

describe("objects that clients read", () => {
  const TAKEN_AWAY = [
    [
      "alter table dex_trade drop column price",
      "it drops public.dex_trade.price, which GraphQL shows as DexTrade.price and",
    ],
    [
      "alter table dex_token rename column name to title",
      "it renames public.dex_token.name, which GraphQL shows as DexToken.name",
    ],
    [
      "drop view dex_price",
      "it drops public.dex_price, which GraphQL shows as DexPrice and market/",
    ],
    ["alter view dex_price rename to dex_prices", "it renames public.dex_price, which"],
    ["alter table dex_pair set schema dex_private", "it moves public.dex_pair, which"],
    ["revoke select on dex_volume from dex_reader", "it hides public.dex_volume, which"],
    ["drop function dex_latest_head()", "it drops public.dex_latest_head(), which"],
    ["drop table dex_private.reorganisation", "it drops dex_private.reorganisation, which market/"],
    [
      "drop function dex_private.final_block(integer)",
      "it drops dex_private.final_block(integer), which market/",
    ],
    [
      "drop function ingest.checked_to(integer, integer)",
      "it drops ingest.checked_to(integer, integer), which chain/",
    ],
    [
      "drop function ingest.fill_digests(integer)",
      "it drops ingest.fill_digests(integer), which db/commands/",
    ],
    [
      "--! no-transaction\ndrop view if exists dex_private.misdigested_block",
      "it drops dex_private.misdigested_block, which db/verify/",
    ],
    [
      "alter table dex_trade drop constraint dex_trade_tx_idx_key",
      "it drops dex_trade_tx_idx_key, which GraphQL may use to find or link records of public.dex_trade",
    ],
    [
      "alter table dex_block drop constraint dex_block_pkey",
      "it drops dex_block_pkey, which GraphQL may use to find or link records of public.dex_block",
    ],
    [
      "alter table dex_private.cancellation drop constraint cancellation_pkey",
      "it drops cancellation_pkey, by which rows of dex_private.cancellation are found and ordered",
    ],
    [
      "--! no-transaction\ndrop index concurrently if exists dex_trade_taker_id_idx",
      "it drops public.dex_trade_taker_id_idx, by which rows of public.dex_trade are found and ordered",
    ],
  ] as const;
  const RENAMED = [
    ["comment on table dex_trade is 'A trade.'", "it removes the tag @foreignKey (offer_id)"],
    [
      "comment on constraint dex_pair_base_gem_fkey on dex_pair is '@foreignFieldName pairsAsBase'",
      "it removes the tag @fieldName baseToken",
    ],
    ["comment on function dex_latest_head() is 'The head.'", "it removes the tag @name dexHead"],
  ] as const;
  let found: LintFinding[][];
  beforeAll(async () => {
    found = await lintEach([...TAKEN_AWAY, ...RENAMED].map(([sql]) => sql));
  });

  it.each(TAKEN_AWAY.map(([sql, what], index) => [sql, what, index] as const))(
    "rejects %s",
    (_, what, index) => {
      expect(found[index]!.map(({ rule }) => rule)).toEqual(["published"]);
      expect(found[index]![0]!.what).toContain(what);
    },
  );

  it.each(RENAMED.map(([sql, what], index) => [sql, what, TAKEN_AWAY.length + index] as const))(
    "rejects %s, which changes names",
    (_, what, index) => {
      expect(new Set(found[index]!.map(({ rule }) => rule))).toEqual(new Set(["tags"]));
      expect(found[index]![0]!.what).toContain(what);
    },
  );

  const isRefusedByAsOf = async (made: string): Promise<boolean> =>
    (await rulesOf(`create ${made};`)).includes("as-of");

  it.each([
    "view dex_x as select trade.id from dex_trade as trade",
    "function dex_x() returns bigint language sql stable as 'select max(id) from public.dex_trade'",
    "function dex_x() returns bigint language sql stable as 'select count(*) from public.dex_block'",
  ])("rejects a new %s, which shows the head where a past block is asked for", async (made) => {
    expect(await isRefusedByAsOf(made)).toBe(true);
  });

  it.each([
    "view dex_x as select trade.id from dex_private.as_of join dex_trade as trade on trade.id < as_of.beyond",
    "view dex_x as select market.pair as id from dex_market as market",
    "view dex_x as select token.address as id from dex_token as token",
    "view dex_private.x as select trade.id from dex_trade as trade",
  ])("accepts a new %s, which follows the block, has no history, or is not shown", async (made) => {
    expect(await isRefusedByAsOf(made)).toBe(false);
  });

  it("rejects a foreign key that a reorganisation cannot pass, and accepts one that it can", async () => {
    const keyed = (action: string): string =>
      `create table dex_private.mark (trade_id bigint primary key references dex_trade (id) ${action});`;
    expect(await rulesOf(keyed(""))).toEqual(["holds-rows"]);
    expect(await rulesOf(keyed("on delete restrict"))).toEqual(["holds-rows"]);
    expect(await rulesOf(keyed("on delete cascade"))).toEqual([]);
  });

  it("rejects a drop by cascade", async () => {
    expect(await rulesOf("drop function dex_private.unused(text) cascade;")).toEqual(["cascade"]);
  });

  it.each([
    ["a private function that nothing uses", "drop function dex_private.unused(text);"],
    [
      "an index of no table of the schema",
      "-- db:lint allow require-concurrent-index-deletion: it is small.\ndrop index dex_private.unused_note_idx;",
    ],
    ["a check", "alter table dex_trade drop constraint dex_trade_idx_check;"],
    ["another text in a comment", "comment on column dex_trade.price is 'Quote per base.';"],
    [
      "a deprecated field",
      "comment on column dex_trade.price is E'@deprecated Ask cost.\\nIts price.';",
    ],
  ])("accepts %s", async (_, sql) => {
    expect(await rulesOf(sql)).toEqual([]);
  });
});

describe("grants, and the protection of the data", () => {
  const DEFINER = "create function dex_private.f() returns integer language sql security definer";
  const REFUSED = [
    ["alter table dex_trade enable row level security", "row-security"],
    ["alter table dex_trade force row level security", "row-security"],
    ["grant insert on dex_trade to dex_reader", "write-grant"],
    ["grant select, update (name) on dex_token to public", "write-grant"],
    ["grant truncate on dex_trade to dex_reader", "write-grant"],
    ["grant references on dex_trade to dex_reader", "write-grant"],
    ["grant trigger on dex_trade to dex_reader", "write-grant"],
    ["grant all on dex_trade to dex_reader", "write-grant"],
    ["grant delete on all tables in schema public to dex_writer, dex_reader", "write-grant"],
    ["grant usage on sequence dex_private.unused_id_seq to dex_reader", "write-grant"],
    ["grant create on schema dex_private to public", "write-grant"],
    ["grant create on schema public to public", "apply"],
    ["grant create on schema dex_private to dex_reader", "write-grant"],
    ["grant create on schema dex_private to dex_writer", "write-grant"],
    ["grant insert, delete on dex_private.offer_left to dex_writer", "write-grant"],
    ["grant update (name) on dex_token to dex_writer", "write-grant"],
    ["grant truncate on all tables in schema public to dex_writer", "write-grant"],
    ["grant usage on sequence dex_pair_id_seq to dex_writer", "write-grant"],
    ["grant select on ingest.staged_block to dex_reader", "write-grant"],
    ["grant select (number) on ingest.staged_block to public", "write-grant"],
    ["grant usage on schema ingest to dex_reader", "write-grant"],
    ["grant select on dex_trade to pg_monitor", "role"],
    ["grant execute on function dex_latest_head() to current_user", "role"],
    ["alter default privileges grant select on tables to pg_monitor", "role"],
    ["alter default privileges grant select on tables to dex_reader", "write-grant"],
    ["alter default privileges in schema ingest grant select on tables to public", "write-grant"],
    ["alter default privileges grant execute on functions to dex_reader", "write-grant"],
    [
      "alter default privileges in schema dex_private grant insert on tables to dex_writer",
      "write-grant",
    ],
    ["grant execute on function dex_latest_head() to public", "execute-grant"],
    ["grant all on all routines in schema dex_private to public", "execute-grant"],
    ["alter default privileges grant execute on functions to public", "execute-grant"],
    ["alter default privileges in schema public grant insert on tables to public", "write-grant"],
    ["alter table dex_trade owner to dex_writer", "owner"],
    ["alter view dex_price owner to dex_writer", "owner"],
    ["alter function dex_latest_head() owner to dex_writer", "owner"],
    ["reassign owned by dex_owner to dex_writer", "owner"],
    ["alter role dex_reader bypassrls", "role"],
    ["alter role dex_reader superuser", "role"],
    ["alter role dex_reader set search_path = 'x'", "role"],
    ["grant dex_owner to dex_reader", "role"],
    ["create role other login", "role"],
    [`${DEFINER} as 'select 1'`, "search-path"],
    [`${DEFINER} set search_path = public as 'select 1'`, "search-path"],
    [`${DEFINER} set search_path = pg_temp, pg_catalog as 'select 1'`, "search-path"],
    ["alter function ingest.take_back(integer) reset all", "search-path"],
    ["alter table dex_trade disable trigger all", "trigger"],
    ["alter table dex_trade disable trigger user", "trigger"],
    ["alter table dex_trade disable trigger refuse_change", "trigger"],
    ["set local session_replication_role = 'replica'", "trigger"],
    ["drop trigger refuse_change on dex_trade", "trigger"],
    ["commit", "transaction"],
    ["begin", "transaction"],
    ["copy dex_trade to program 'cat'", "server-file"],
    ["copy dex_trade from program 'cat'", "server-file"],
    ["copy dex_trade to '/tmp/trades'", "server-file"],
    ["create table dex_private.note (size double precision)", "column-type"],
    ["create table dex_private.sized (size real[])", "column-type"],
    ["create table dex_private.timed (at timestamp(3))", "column-type"],
    ["alter table dex_private.offer_left add column at timestamp", "column-type"],
  ] as const;
  itRejects(REFUSED);

  it.each([
    "grant select on dex_private.offer_left to dex_reader;",
    "grant usage on schema dex_private to dex_reader;",
    "grant select on dex_private.offer_left to dex_writer;",
    "revoke all on dex_private.cancellation from public;",
    "grant execute on function dex_latest_head() to dex_reader;",
    "alter default privileges revoke execute on functions from public;",
    `${DEFINER} set search_path = '' as 'select 1';`,
    `${DEFINER} set search_path = pg_catalog as 'select 1';`,
    `${DEFINER} set search_path = pg_catalog, pg_temp as 'select 1';`,
    `${DEFINER} as 'select 1'; alter function dex_private.f() set search_path = '';`,
    "create table dex_private.note (at timestamptz, size numeric, day date);",
    "create table dex_private.note (id integer); create trigger t before insert on dex_private.note for each row execute function dex_private.refuse_change(); drop trigger t on dex_private.note;",
    "alter table dex_trade enable trigger all;",
  ])("accepts %s", async (sql) => {
    expect(await rulesOf(sql)).toEqual([]);
  });
});

describe("what dex_reader may call", () => {
  const definer = (name: string, of: string, options = "stable"): string =>
    `create or replace function ${name} returns integer language plpgsql ${options} security definer
    set search_path = '' as $$ begin ${of} return 1; end $$;`;
  const WRITES = "perform ingest.take_back(0);";
  const PRIVATE = "dex_private.f()";
  const toReader = `grant execute on function ${PRIVATE} to dex_reader;`;

  it.each([
    [
      "has the name of a writing function in another schema",
      `${definer("public.take_back(block integer)", WRITES)}
      comment on function public.take_back(integer) is 'Its number.';
      grant execute on function public.take_back(integer) to dex_reader;`,
      ["function", "published"],
    ],
    [
      "was volatile when it was created",
      `${definer(PRIVATE, WRITES, "volatile")} ${definer(PRIVATE, WRITES)} ${toReader}`,
      ["function"],
    ],
    [
      "calls what becomes volatile",
      `${definer("dex_private.g()", "")} ${definer(PRIVATE, "perform dex_private.g();")} ${toReader}
      ${definer("dex_private.g()", "delete from public.dex_trade;", "volatile")}`,
      ["function"],
    ],
  ])("does not include a function that runs as its owner and %s", async (_, sql, rules) => {
    const found = await rulesOf(sql);
    expect(found.length).toBeGreaterThan(0);
    expect(rules).toEqual(expect.arrayContaining(found));
  });

  it("does not include one that an earlier migration made and that comes to call what writes", async () => {
    const stands = await makeShadow(
      `${definer("dex_private.g()", "")} ${definer(PRIVATE, "perform dex_private.g();")} ${toReader}`,
    );
    const text = definer("dex_private.g()", "delete from public.dex_trade;", "volatile");
    const files = [{ file: "x.sql", text: `select 1; ${text}` }];
    const { findings } = await lintMigration(files, { shadow: stands, readers });
    expect(findings).toMatchObject([
      {
        rule: "write-grant",
        what: `it lets dex_reader call ${PRIVATE}, which runs with its owner's rights and calls what may write`,
      },
    ]);
  });

  it("includes one that reads with its owner's rights", async () => {
    const reads = "perform 1 from ingest.staged_block;";
    expect(await rulesOf(`${definer(PRIVATE, reads)} ${toReader}`)).toEqual([]);
  });

  it("does not include PostgreSQL's function of the name of a new one", async () => {
    const sql = `create function dex_private.pg_sleep(seconds float8) returns integer language sql stable
      as 'select 1'; select pg_sleep(1);`;
    expect(await rulesOf(sql)).toEqual(["function"]);
  });
});

describe("an object that is new to clients", () => {
  it("is accepted with its comments and its grant", async () => {
    expect(await rulesOf(TABLE)).toEqual([]);
  });

  it("is rejected with the missing comments and the missing grant", async () => {
    const { findings } = await lint(`create table dex_note (id integer primary key, note text);
      comment on column dex_note.id is 'Its number.';
      alter table dex_token add column website text;
      create or replace view dex_volume as
      select figure.pair, figure.base, figure.quote, figure.vol, 1 as extra from dex_private.head_figure as figure;
      create function dex_note_length(note dex_note) returns integer language sql stable
      as 'select length(note.note)';`);
    expect(findings.map(({ line, rule, what }) => `${line} ${rule}: ${what}`)).toEqual([
      "1 comment: public.dex_note has no comment",
      "1 grant: dex_reader is not granted select on public.dex_note",
      "1 comment: public.dex_note.note has no comment",
      "3 comment: public.dex_token.website has no comment",
      "4 comment: public.dex_volume.extra has no comment",
      "6 comment: public.dex_note_length(public.dex_note) has no comment",
      "6 grant: dex_reader is not granted execute on function public.dex_note_length(public.dex_note)",
    ]);
  });

  it("is rejected if it does not name its columns", async () => {
    const sql = `create view dex_all as select * from dex_trade;
      comment on view dex_all is 'All.';
      grant select on dex_all to dex_reader;`;
    expect((await rulesOf(sql))[0]).toBe("star");
  });

  it("needs neither in dex_private", async () => {
    expect(await rulesOf("create table dex_private.note (id integer primary key);")).toEqual([]);
  });
});

describe("a column more in the rows that functions make", () => {
  const COLUMN = "alter table dex_private.running_sum add column n integer;";

  it.each([
    [COLUMN, "dex_private.running_sum.n, but dex_private."],
    [
      "alter type dex_private.price_range add attribute mean numeric;",
      "dex_private.price_range.mean, but dex_private.range_at makes rows without it",
    ],
    [
      "alter table dex_private.period_figure add column note text;",
      "dex_private.period_figure.note, but dex_private.cut_period, dex_private.figures_from make rows without it",
    ],
    [
      "alter type dex_candle add attribute n integer;",
      "public.dex_candle.n, but public.dex_candles",
    ],
    [
      "alter table dex_offer add column n integer;",
      "public.dex_offer.n, but dex_private.offers_as_of makes rows without it",
    ],
  ])("is refused by %s", async (sql, what) => {
    const { findings } = await lint(sql);
    const found = findings.filter(({ rule }) => rule === "row-type");
    expect(found).toMatchObject([{ rule: "row-type", what: expect.stringContaining(what) }]);
  });

  it("is accepted where the migration replaces them", async () => {
    const sql = `alter type dex_private.price_range add attribute mean numeric;
      -- db:lint allow kept: nothing has this mean yet.
      create or replace function dex_private.range_at(market integer, moment dex_private.last_moment)
      returns dex_private.price_range language sql stable as 'select row(1, 2, 3)::dex_private.price_range';`;
    expect(await rulesOf(sql)).toEqual([]);
  });

  it("is accepted in a table whose rows no function makes", async () => {
    expect(await rulesOf("alter table dex_private.unused add column n integer;")).toEqual([]);
  });
});

describe("a comment that allows a rule", () => {
  const index = "create index dex_head_block_idx on dex_head (block);";

  it("allows one rule for one statement, with a reason", async () => {
    const allow = "-- db:lint allow require-concurrent-index-creation: it has one row.\n";
    expect(await lint(`${allow}${index}`)).toEqual({ findings: [], overruled: 1 });
    expect(await rulesOf(`${allow}${index}\n${index.replace("block_idx", "other_idx")}`)).toEqual([
      "require-concurrent-index-creation",
    ]);
  });

  it.each([
    [
      "-- db:lint allow require-concurrent-index-creation:",
      "it allows require-concurrent-index-creation without a reason",
    ],
    ["-- db:lint allow indexes: it has one row", "there is no rule indexes"],
    ["-- db:lint off", "it names no rule to allow"],
    ["-- squawk-ignore require-concurrent-index-creation", "squawk's own comments have no reason"],
  ])("is rejected as %s", async (comment, problem) => {
    const { findings } = await lint(`${comment}\n${index}`);
    expect(findings.map(({ rule }) => rule)).toEqual([
      "require-concurrent-index-creation",
      "overrule",
    ]);
    expect(findings[1]).toMatchObject({ file: "1.sql", line: 1, what: problem });
  });

  it("is rejected if the statement does not need it", async () => {
    const { findings } = await lint(`-- db:lint allow cascade: it has no use.\n${TABLE}`);
    expect(findings.map(({ what }) => what)).toEqual([
      "it allows cascade, which the statement below does not need",
    ]);
  });
});

it("lints the files of current/ as one migration, and names the file", async () => {
  const [table, ...described] = TABLE.split("\n");
  expect((await lint(table!, described.join("\n"))).findings).toEqual([]);
  const { findings } = await lint(TABLE, "select 1;\nlock table dex_trade;");
  expect(findings).toMatchObject([{ file: "2.sql", line: 2, rule: "lock-table" }]);
});

it("names the line of a syntax error", async () => {
  const { findings } = await lint("select 1;\n\nselec :DATABASE_OWNER;");
  expect(findings).toMatchObject([
    { line: 3, rule: "syntax", what: 'syntax error at or near "selec"' },
  ]);
});

describe("what a migration may contain", () => {
  const writer = (name: string, of = "begin delete from public.dex_trade; return 1; end"): string =>
    `create function ${name} returns integer language plpgsql as $$ ${of} $$;`;
  const stable = (of: string): string =>
    `create function dex_private.f() returns integer language plpgsql stable as $$ ${of} $$;`;

  it("includes the statements and calls of the committed migrations", async () => {
    const statements = await readStatements(
      (
        await Promise.all(
          (await readdir(COMMITTED)).map((file) => readFile(join(COMMITTED, file), "utf8")),
        )
      ).join("\n"),
    );
    const functions = new KnownFunctions();
    for (const { node } of statements) functions.learn(node);
    const found = statements.flatMap(({ node, text }) => findNotAllowed(node, text, functions));
    // Of the check of the locale, of the aggregate of digests, of two functions that return a list of rows, and of the
    // indexes that a load drops and makes again.
    expect(found).toEqual([
      { rule: "unseen", what: "the linter cannot analyse a `do` block" },
      { rule: "statement", what: "`define` is not among what a migration may contain" },
      { rule: "statement", what: "`comment aggregate` is not among what a migration may contain" },
      ...Array<unknown>(2).fill({
        rule: "unseen",
        what: "the linter cannot read the function's body: PL/pgSQL functions cannot return type record[]",
      }),
      { rule: "setting", what: "it sets lock_timeout in the function" },
      { rule: "unseen", what: "the linter does not accept lock and execute in this function" },
      {
        rule: "function",
        what: "it calls current_database and pg_get_indexdef and pg_get_constraintdef and obj_description, which a migration may not run",
      },
      { rule: "setting", what: "it sets default_tablespace in the function" },
      { rule: "unseen", what: "the linter does not accept execute in this function" },
      { rule: "function", what: "it calls chained_digest, which a migration may not run" },
    ]);
  });

  it.each([
    ["function", "select ingest.take_back(0)"],
    ["function", "select ingest.rebuild()"],
    ["function", "select pg_sleep(1)"],
    ["function", 'select U&"\\0070g_sleep"(1)'],
    ["function", "select pg_advisory_lock(1)"],
    ["function", "select setval('dex_pair_id_seq', 1)"],
    ["function", "select count(nextval('dex_pair_id_seq')) from generate_series(1, 9)"],
    ["function", "select pg_read_file('/etc/passwd')"],
    ["function", "select query_to_xml('delete from dex_trade', true, true, '')"],
    ["function", "select * from rows from (pg_ls_dir('/'))"],
    ["function", "create statistics dex_private.s on (pg_sleep(idx)::text), id from dex_trade"],
    ["lock-table", "select id from dex_trade for update"],
    ["lock-table", "(select id from dex_trade for share) union all select 1"],
    ["setting", "set local search_path = dex_private"],
    ["setting", "set role postgres"],
    ["setting", "reset role"],
    ["setting", "set session authorization postgres"],
    ["setting", "set lock_timeout = '200ms'"],
    ["setting", "reset all"],
    ["statement", "create rule r as on delete to dex_pair do instead nothing"],
    ["statement", "create extension pg_trgm"],
    ["statement", "update pg_settings set setting = 'off' where name = 'jit'"],
    ["statement", "delete from pg_catalog.pg_description"],
    ["statement", "create cast (integer as text) with inout"],
    ["statement", "create operator === (leftarg = integer, rightarg = integer, function = int4eq)"],
    ["statement", "create procedure dex_private.p() language sql as 'delete from dex_trade'"],
    ["statement", "create event trigger e on ddl_command_end execute function dex_private.f()"],
    ["statement", "create publication p for all tables"],
    ["statement", "alter sequence dex_pair_id_seq restart"],
    ["statement", "alter table dex_pair alter column id restart"],
    ["statement", "create table dex_private.n () inherits (dex_trade)"],
    ["statement", "alter function dex_private.unused(text) volatile"],
    ["statement", "grant create on database :DATABASE_NAME to dex_reader"],
    ["statement", "explain analyze delete from dex_trade"],
    ["statement", "copy dex_trade from stdin"],
    ["statement", "notify x"],
    ["row-security", "create policy p on dex_pair using (true)"],
    ["write-grant", "grant select on dex_trade to dex_reader with grant option"],
    ["transaction", "--! no-transaction\nupdate dex_trade set tx = tx"],
    ["unseen", writer("dex_private.f()", "begin execute 'drop table dex_trade'; return 1; end")],
    [
      "unseen",
      writer(
        "dex_private.f()",
        "declare x integer; begin for x in execute 'select 1' loop null; end loop; return 1; end",
      ),
    ],
    ["unseen", writer("dex_private.f()", "begin set role postgres; return 1; end")],
    ["unseen", writer("dex_private.f()", "begin drop table dex_trade; return 1; end")],
    ["unseen", "create function dex_private.f() returns integer language c as 'libc', 'system'"],
    ["unseen", stable("begin delete from public.dex_trade; return 1; end")],
    ["function", stable("begin perform ingest.take_back(0); return 1; end")],
    ["function", stable("declare x text := pg_read_file('/etc/passwd'); begin return 1; end")],
    ["function", stable("declare x integer[]; begin x[lastval()] := 1; return 1; end")],
    ["function", `${writer("dex_private.f()")} select dex_private.f()`],
    [
      "function",
      `${writer("dex_private.f()")} create view dex_private.v as select dex_private.f() as x`,
    ],
    [
      "function",
      `${writer("dex_private.f()")} create table dex_private.n (id integer default dex_private.f())`,
    ],
    [
      "function",
      `${writer("dex_private.f()")} create domain dex_private.d as integer check (dex_private.f() = value)`,
    ],
    [
      "function",
      `${writer("dex_private.f()")} alter function dex_private.f() rename to quotient; select dex_private.quotient()`,
    ],
    ["function", `${writer("lower(x integer)")} select lower(1)`],
    ["function", `${writer("f(n dex_private.unused)")} select n.f from dex_private.unused as n`],
  ])("has the rule %s against %s", async (rule, sql) => {
    expect(await rulesOf(`${sql};`)).toEqual([rule]);
  });

  it.each([
    ["scans-table", "alter table dex_private.offer_left add column n integer check (n > 0)"],
    ["ingest", "insert into ingest.staged_block select * from ingest.staged_block"],
    [
      "trigger",
      "create trigger t before update on dex_trade for each row execute function suppress_redundant_updates_trigger()",
    ],
    ["comment", "comment on column dex_token.name is null"],
    [
      "kept",
      "create or replace function dex_private.minute_of(moment timestamptz) returns timestamptz language sql immutable as 'select moment'",
    ],
    [
      "kept",
      "create or replace function dex_private.keep_figures(first_trade bigint, figures dex_private.period_figure[] default null) returns void language sql as 'select'",
    ],
    ["kept", "alter function ingest.take_back(integer) security invoker"],
    ["kept", "alter table ingest.staged_offer alter column filled set default true"],
    ["kept", "alter table ingest.staged_block alter column staged_by drop default"],
    ["kept", "alter table dex_pair alter column market drop expression"],
    ["published", "alter function dex_latest_head() strict"],
    ["write-grant", "grant execute on function ingest.take_back(integer) to dex_reader"],
    [
      "write-grant",
      `${writer("dex_private.f()")} grant execute on function dex_private.f() to dex_reader`,
    ],
    ["published", "revoke execute on function ingest.take_back(integer) from dex_writer"],
    ["published", "alter view dex_price set (security_invoker = true)"],
    ["published", "alter table dex_private.cancellation rename to gone"],
    ["data-loss", "alter table dex_private.unused drop column note"],
    [
      "data-loss",
      "drop table dex_private.unused; create table dex_private.unused (id integer, note text)",
    ],
    ["whole-table-write", "delete from graphile_migrate.migrations"],
    [
      "adding-field-with-default",
      "alter table dex_private.offer_left add column n integer generated always as (offer_id + 1) stored",
    ],
  ])("has the rule %s, by what it does to a database, against %s", async (rule, sql) => {
    expect(await rulesOf(`${sql};`)).toEqual([rule]);
  });

  it("does not include rows that a trigger of the migration sees", async () => {
    const table = "create table dex_private.n (id integer);";
    const insert = "insert into dex_private.n values (1);";
    const trigger = `create function dex_private.g() returns trigger language plpgsql as $$
      begin if exists (select from public.dex_trade) then delete from public.dex_trade; end if; return new; end $$;
      create trigger t before insert on dex_private.n for each row execute function dex_private.g();`;
    expect(await rulesOf(`${table} ${insert} ${trigger}`)).toEqual([]);
    expect(await rulesOf(`${table} ${trigger} ${insert}`)).toEqual(["function"]);
  });

  it("is not run where a rule is overruled that keeps it from the database", async () => {
    const { findings, overruled } =
      await lint(`-- db:lint allow unseen: the test looks whether it runs.
      do $$ begin drop table dex_private.unused cascade; end $$;
      comment on table dex_private.unused is 'It is there.';`);
    expect({ findings, overruled }).toEqual({ findings: [], overruled: 1 });
  });
});

describe("the command", () => {
  let copy: RepositoryCopy;
  beforeAll(async () => {
    copy = await copyRepository();
  });
  afterAll(() => copy.remove());
  const run = (args: string[] = [], env: Record<string, string> = {}): Promise<Ended> =>
    runFile("server/lint-schema-changes.ts", env, args, copy.folder).ended;

  it("lints the current migration and those since the baseline, also with --json", async () => {
    const current = "db/migrations/current/1-current.sql";
    expect(await run()).toMatchObject({ code: 0, stderr: "" });

    await writeFile(
      join(copy.folder, current),
      "-- An index.\ncreate index i on dex_trade (tx);\n",
    );
    const refused = await run();
    expect(refused).toMatchObject({ code: 1, stderr: "" });
    expect(refused.stdout).toContain(
      `${current}:2 require-concurrent-index-creation\n` +
        "  During normal index creation, table updates are blocked, but reads are still allowed.\n" +
        "  → Create index concurrently if not exists …, in a migration of its own whose first line is `--! no-transaction`",
    );
    expect(refused.stdout).toMatch(/\n1 refused\.\n$/);

    const told = JSON.parse((await run(["--json"])).stdout);
    expect(told.linted).not.toContain("db/migrations/committed/000001-baseline.sql");
    expect(told.linted.at(-1)).toBe(current);
    expect(told.findings).toMatchObject([{ file: current, line: 2 }]);

    const alone = "db/migrations/current.sql";
    await rm(join(copy.folder, "db/migrations/current"), { recursive: true });
    await writeFile(join(copy.folder, alone), "create index i on dex_trade (tx);\n");
    expect(JSON.parse((await run(["--json"])).stdout).linted.at(-1)).toBe(alone);
    await rm(join(copy.folder, alone));
    await mkdir(join(copy.folder, "db/migrations/current"));
    await writeFile(join(copy.folder, current), "");

    const number = (await readdir(COMMITTED)).sort().at(-1)!.slice(0, 6);
    const later = JSON.parse((await run(["--after", number, "--json"])).stdout);
    expect(later.linted).toEqual([current]);
  });

  it("lints the files of current/ by their number, and refuses those that graphile-migrate refuses", async () => {
    const current = join(copy.folder, "db/migrations/current");
    const env = { SHADOW_DATABASE_URL: clusterUrl() };
    await writeFile(join(current, "2-table.sql"), "create table dex_private.n (id integer);\n");
    await writeFile(join(current, "10-rows.sql"), "insert into dex_private.n values (1);\n");
    expect(await run([], env)).toMatchObject({ code: 0, stderr: "" });
    await writeFile(join(current, "10-rows.sql"), "--! no-transaction\nselect 1;\n");
    const refused = await run([], env);
    for (const name of ["2-table.sql", "10-rows.sql"]) await rm(join(current, name));
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("use 'current.sql' instead");
  });

  it("lints given files, a committed one after the migrations before it", async () => {
    const file = join(copy.folder, "db/migrations/committed/000002-times.sql");
    await writeFile(
      file,
      "--! Previous: sha1:1\n--! Hash: sha1:2\n\nupdate dex_block set time = time;\n",
    );
    const { code, stdout } = await run([file, "--json"], { SHADOW_DATABASE_URL: clusterUrl() });
    await rm(file);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).findings).toContainEqual(
      expect.objectContaining({
        file,
        rule: "whole-table-write",
        what: "it writes rows of public.dex_block in one transaction",
      }),
    );
  });

  it("lints each given file alone, or with --in-order after the one before it", async () => {
    const files = [join(copy.folder, "1.sql"), join(copy.folder, "2.sql")];
    await writeFile(files[0]!, "create table dex_private.n (id integer primary key);\n");
    await writeFile(files[1]!, `${PATIENT}\nalter table dex_private.n add column note text;\n`);
    const env = { SHADOW_DATABASE_URL: clusterUrl() };
    const alone = JSON.parse((await run([...files, "--json"], env)).stdout);
    expect(alone.findings).toMatchObject([
      {
        file: files[1],
        rule: "apply",
        what: 'PostgreSQL refuses it: relation "dex_private.n" does not exist',
      },
    ]);
    expect(await run([...files, "--in-order"], env)).toMatchObject({ code: 0, stderr: "" });
  });

  it("exits 2 and names the accepted arguments if it cannot lint", async () => {
    expect(await run(["--after", "12"])).toEqual({
      code: 2,
      stdout: "",
      stderr:
        "The migrations cannot be linted: --after 12 names no committed migration; it takes a number such as 000001\n",
    });
  });
});
