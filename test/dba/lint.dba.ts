// npm run db:lint rejects a migration that would block readers, remove something they use or expose something
// without a description, and names the safe alternative, which it accepts.
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  lintMigration,
  standAfter,
  type LintFinding,
  type LintResult,
} from "../../db/lint/lint.ts";
import { readReaders, type Readers } from "../../db/lint/published.ts";
import type { Standing } from "../../db/lint/standing.ts";
import { runFile, type Ended } from "../service.ts";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const COMMITTED = join(REPOSITORY, "db/migrations/committed");

let standing: Standing;
let readers: Readers;
beforeAll(async () => {
  const files = (await readdir(COMMITTED)).sort();
  standing = await standAfter(
    await Promise.all(
      files.map(async (file) => ({ file, text: await readFile(join(COMMITTED, file), "utf8") })),
    ),
  );
  readers = await readReaders();
});

const lintAsItIs = (text: string, ...more: string[]): Promise<LintResult> =>
  lintMigration(
    [text, ...more].map((one, index) => ({ file: `${index + 1}.sql`, text: one })),
    standing.copy(),
    readers,
  );

const PATIENT = "set local lock_timeout = '200ms';";

/** The same SQL after `set local lock_timeout`. */
const lint = (text: string, ...more: string[]): Promise<LintResult> =>
  lintAsItIs(text.startsWith("--! no-transaction") ? text : `${PATIENT} ${text}`, ...more);

/** The findings of each statement; all statements are linted as one migration. */
const lintEach = async (statements: string[]): Promise<LintFinding[][]> => {
  // One statement on each line.
  const { findings } = await lint(statements.map((sql) => `${sql};`).join("\n"));
  return statements.map((_, index) => findings.filter(({ line }) => line === index + 1));
};

/** The rules that reject the SQL, in the order of its statements. */
const rulesOf = async (text: string): Promise<string[]> =>
  (await lint(text)).findings.map(({ rule }) => rule);

const TABLE = `create table dex_note (id integer primary key, note text not null);
comment on table dex_note is 'A note.';
comment on column dex_note.id is 'Its number.';
comment on column dex_note.note is 'What it says.';
grant select on dex_note to dex_reader;`;

describe("locks and rewriting", () => {
  const REFUSED = [
    ["create index dex_trade_tx_note_idx on dex_trade (tx)", "require-concurrent-index-creation"],
    ["drop index dex_trade_taker_id_idx", "require-concurrent-index-deletion"],
    ["reindex table dex_trade", "require-concurrent-reindex"],
    ["create index concurrently on dex_trade (tx)", "concurrently-in-transaction"],
    ["drop index concurrently dex_trade_taker_id_idx", "concurrently-in-transaction"],
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
      "alter table dex_trade add constraint dex_trade_offer_id_fkey foreign key (offer_id) references dex_offer (id)",
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
    ["refresh materialized view daily", "rewrites-table"],
    ["truncate dex_trade", "whole-table-write"],
    ["update dex_trade set market = market", "whole-table-write"],
    ["delete from dex_offer where killed > 0", "whole-table-write"],
    [
      "with gone as (delete from dex_trade where idx < 0 returning id) select count(*) from gone",
      "whole-table-write",
    ],
    [
      "with kept as (update dex_token set name = '' returning address) insert into dex_private.kept select * from kept",
      "whole-table-write",
    ],
    [
      "merge into dex_token as token using dex_pair as pair on false when matched then delete",
      "whole-table-write",
    ],
    ["do $$ begin execute 'drop table dex_trade'; end $$", "unseen"],
  ] as const;
  let found: LintFinding[][];
  beforeAll(async () => {
    found = await lintEach(REFUSED.map(([sql]) => sql));
  });

  it.each(REFUSED.map(([sql, rule], index) => [sql, rule, index] as const))(
    "rejects %s",
    (_, rule, index) => {
      expect(found[index]!.map((finding) => finding.rule)).toEqual([rule]);
      expect(found[index]![0]!.instead).toMatch(/^[^]{30,}\.$/);
    },
  );

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
    const stands = standing.copy();
    const rules: string[][] = [];
    for (const text of [steps[0]!, setNotNull, steps[1]!, setNotNull]) {
      const files = [{ file: "x.sql", text: `${PATIENT} ${text}` }];
      const { findings } = await lintMigration(files, stands, readers);
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
    "create index concurrently i on dex_trade (tx);",
    "drop index concurrently dex_trade_taker_id_idx;",
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
    [
      "another default, for new rows",
      "alter table dex_pair alter column active set default false;",
    ],
    [
      "another body for a function",
      `create or replace function dex_private.minute_of(moment timestamptz)
      returns timestamptz language sql immutable as 'select moment';`,
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
    "create trigger t before insert on dex_trade for each row execute function dex_private.derive_day()",
    "create or replace view dex_private.as_of as select 1 as one",
    "create rule r as on delete to dex_pair do instead nothing",
    "create policy p on dex_pair using (true)",
    "drop table dex_private.offer_left",
    "drop trigger refuse_change on dex_trade",
    "alter trigger refuse_change on dex_trade rename to refuse",
    "truncate dex_private.offer_left",
    "lock table dex_trade",
  ];
  const GENTLE = [
    "lock table dex_trade nowait",
    "alter table dex_trade validate constraint dex_trade_idx_check",
    "alter table dex_trade set (fillfactor = 90)",
    "alter table dex_trade alter column market set statistics 1000",
    "create table dex_private.note (id integer primary key)",
    "create view dex_private.noted as select 1 as one",
    "drop function dex_private.is_hash(text)",
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
    const text = LOCKING.map((sql) => `${sql};\n`).join("");
    const waits = await waitsOf(text);
    expect(waits.map((wait) => Number.parseInt(wait, 10))).toEqual(
      LOCKING.map((_, index) => index + 1),
    );
    for (const wait of waits) expect(wait).toMatch(RULE);
    expect(waits[1]).toContain("its lock on public.dex_trade and public.dex_offer ");
    for (const timeout of ["200", "'200ms'", "' 5 s '", "'0.05min'"]) {
      expect(await waitsOf(`set local lock_timeout = ${timeout};\n${text}`)).toEqual([]);
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

  it("is accepted if its lock blocks nobody", async () => {
    expect(await waitsOf(GENTLE.map((sql) => `${sql};\n`).join(""))).toEqual([]);
  });

  it("is accepted on objects that the migration creates itself", async () => {
    const sql = `${TABLE} alter table dex_note add column more text; drop table dex_note;`;
    expect(await waitsOf(sql)).toEqual([]);
  });

  it.each([
    "set lock_timeout = '200ms'",
    "set local lock_timeout = 0",
    "set local lock_timeout = '0ms'",
    "set local lock_timeout = '200ms'; reset lock_timeout",
    "set local lock_timeout = '200ms'; reset all",
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
    const stands = standing.copy();
    const found: LintFinding[][] = [];
    for (const text of texts) {
      const { findings } = await lintMigration([{ file: "x.sql", text }], stands, readers);
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
    ["drop view dex_price", "it drops public.dex_price, which GraphQL shows as DexPrice and rest/"],
    ["alter view dex_price rename to dex_prices", "it renames public.dex_price, which"],
    ["alter table dex_pair set schema dex_private", "it moves public.dex_pair, which"],
    ["revoke select on dex_volume from dex_reader", "it hides public.dex_volume, which"],
    ["drop function dex_latest_head()", "it drops public.dex_latest_head(), which"],
    ["drop view dex_private.as_of", "it drops dex_private.as_of, which rest/"],
    [
      "alter table dex_trade drop constraint dex_trade_tx_idx_key",
      "it drops dex_trade_tx_idx_key, which GraphQL may use to find or link records of public.dex_trade",
    ],
  ] as const;
  const RENAMED = [
    ["comment on table dex_trade is 'A trade.'", "it removes the tag @foreignKey (offer_id)"],
    [
      "comment on column dex_trade.price is E'@name cost\\nIts price.'",
      "the tag @name cost renames or hides",
    ],
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

  it("rejects a drop by cascade", async () => {
    expect(await rulesOf("drop table dex_private.period_figure cascade;")).toEqual(["cascade"]);
  });

  it.each([
    ["a function that only the database uses", "drop function dex_private.is_hash(text);"],
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
    ["grant usage on sequence dex_trade_id_seq to dex_reader", "write-grant"],
    ["grant create on schema public to public", "write-grant"],
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
  let found: LintFinding[][];
  beforeAll(async () => {
    found = await lintEach(REFUSED.map(([sql]) => sql));
  });

  it.each(REFUSED.map(([sql, rule], index) => [sql, rule, index] as const))(
    "rejects %s",
    (_, rule, index) => {
      expect(found[index]!.map((finding) => finding.rule)).toEqual([rule]);
      expect(found[index]![0]!.instead).toMatch(/^[^]{30,}\.$/);
    },
  );

  it.each([
    "grant select on dex_private.offer_left to dex_reader;",
    "grant usage on schema dex_private to dex_reader;",
    "grant insert, delete on dex_private.offer_left to dex_writer;",
    "revoke all on dex_private.cancellation from public;",
    "grant execute on function dex_latest_head() to dex_reader;",
    "alter default privileges revoke execute on functions from public;",
    `${DEFINER} set search_path = '' as 'select 1';`,
    `${DEFINER} as 'select 1'; alter function dex_private.f() set search_path = '';`,
    "create table dex_private.note (at timestamptz, size numeric, day date);",
    "create table dex_private.note (id integer); create trigger t before insert on dex_private.note for each row execute function dex_private.start_epoch(); drop trigger t on dex_private.note;",
    "alter table dex_trade enable trigger all;",
  ])("accepts %s", async (sql) => {
    expect(await rulesOf(sql)).toEqual([]);
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
      create or replace view dex_volume as select pair, base, quote, vol, 1 as extra
      from dex_private.market_figure;
      create function dex_note_length(note dex_note) returns integer language sql stable
      as 'select length(note.note)';`);
    expect(findings.map(({ line, rule, what }) => `${line} ${rule}: ${what}`)).toEqual([
      "1 comment: public.dex_note has no comment",
      "1 comment: public.dex_note.note has no comment",
      "1 grant: dex_reader is not granted select on public.dex_note",
      "3 comment: public.dex_token.website has no comment",
      "4 comment: public.dex_volume.extra has no comment",
      "6 comment: public.dex_note_length(dex_note) has no comment",
      "6 grant: dex_reader is not granted execute on function public.dex_note_length(dex_note)",
    ]);
  });

  it("is rejected if it does not name its columns", async () => {
    const sql = `create view dex_all as select * from dex_trade;
      comment on view dex_all is 'All.';
      grant select on dex_all to dex_reader;`;
    expect(await rulesOf(sql)).toEqual(["star"]);
  });

  it("needs neither in dex_private", async () => {
    expect(await rulesOf("create table dex_private.note (id integer primary key);")).toEqual([]);
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

describe("the command", () => {
  let copy: string;
  beforeAll(async () => {
    copy = await mkdtemp(join(tmpdir(), "dex-copy-"));
    for (const name of ["db", "rest", "server", "package.json"]) {
      await cp(join(REPOSITORY, name), join(copy, name), { recursive: true });
    }
    for (const installed of ["node_modules", "tools"]) {
      await symlink(join(REPOSITORY, installed), join(copy, installed));
    }
  });
  afterAll(async () => {
    await rm(copy, { recursive: true });
  });
  const run = (args: string[] = []): Promise<Ended> =>
    runFile("db/commands/lint.ts", {}, args, copy).ended;

  it("lints the current migration and those since the baseline, also with --json", async () => {
    const current = "db/migrations/current/1-current.sql";
    expect(await run()).toMatchObject({ code: 0, stderr: "" });

    await writeFile(join(copy, current), "-- An index.\ncreate index i on dex_trade (tx);\n");
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
    await rm(join(copy, "db/migrations/current"), { recursive: true });
    await writeFile(join(copy, alone), "create index i on dex_trade (tx);\n");
    expect(JSON.parse((await run(["--json"])).stdout).linted.at(-1)).toBe(alone);
    await rm(join(copy, alone));
    await mkdir(join(copy, "db/migrations/current"));
    await writeFile(join(copy, current), "");

    const number = (await readdir(COMMITTED)).sort().at(-1)!.slice(0, 6);
    const later = JSON.parse((await run(["--after", number, "--json"])).stdout);
    expect(later.linted).toEqual([current]);
  });

  it("lints given files, a committed one after the migrations before it", async () => {
    const file = join(copy, "db/migrations/committed/000002-times.sql");
    await writeFile(
      file,
      "--! Previous: sha1:1\n--! Hash: sha1:2\n\nupdate dex_block set time = time;\n",
    );
    const { code, stdout } = await run([file, "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).findings).toContainEqual(
      expect.objectContaining({
        file,
        rule: "whole-table-write",
        what: "it writes rows of public.dex_block in one transaction",
      }),
    );
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
