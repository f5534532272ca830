// The rules, each with the safe alternative.

const ALONE =
  "in a migration of its own whose first line is `--! no-transaction`: graphile-migrate runs every other migration in one transaction, in which CONCURRENTLY cannot run";

/** squawk's rules under squawk's names; squawkhq.com/docs/rules explains them. */
const OF_SQUAWK = {
  "require-concurrent-index-creation": `create index concurrently if not exists …, ${ALONE}. After an interruption npm run db:migrate drops the invalid index and creates it again.`,
  "require-concurrent-index-deletion": `drop index concurrently if exists …, ${ALONE}.`,
  "require-concurrent-reindex": `reindex … concurrently, ${ALONE}.`,
  "require-concurrent-partition-detach": `alter table … detach partition … concurrently, ${ALONE}.`,
  "changing-column-type":
    "add a column of the new type, fill it for new rows with a trigger, fill the old rows in batches, switch the readers, and drop the old column in a later migration.",
  "adding-field-with-default":
    "add the column without a default, set the default for new rows in a second statement (alter column … set default …), and fill the old rows in batches. A constant default rewrites nothing.",
  "adding-required-field":
    "add the column without not null, fill it in batches, and then set it not null with the help of a validated check (see set-not-null).",
  "adding-foreign-key-constraint":
    "add constraint … foreign key … not valid, and in a later migration alter table … validate constraint …, which blocks neither readers nor writers.",
  "constraint-missing-not-valid":
    "add constraint … not valid, and in a later migration alter table … validate constraint …, which blocks neither readers nor writers; in the same migration the lock of the first statement would be held while the second scans the whole table.",
  "disallowed-unique-constraint": `create unique index concurrently …, ${ALONE}; then, in a later migration, add constraint … unique using index ….`,
  "adding-serial-primary-key-field": `create unique index concurrently …, ${ALONE}; then, in a later migration, add constraint … primary key using index ….`,
  "prefer-robust-stmts":
    "add if not exists with the index's name, or if exists: without a transaction, a killed process may have run the statement without recording it, and the next npm run db:migrate runs it again.",
  "ban-drop-not-null":
    "leave it not null: otherwise clients get a nullable field that their code does not expect.",
} as const;

const OF_OURS = {
  "set-not-null":
    "add constraint … check (<column> is not null) not valid, validate it in a later migration, and set not null in another one: PostgreSQL then trusts the check and does not scan the table.",
  "scans-table":
    "add the column or constraint without the check, then the check with not valid, and validate it in a later migration, which blocks neither readers nor writers.",
  "lock-timeout":
    "put set local lock_timeout = '200ms' above it in the same migration: if the lock is not granted in time, nothing is changed and the migration is retried. More than 5 s is too long for the readers and writers that wait behind it. Outside a transaction the setting has no effect.",
  "held-lock":
    "put it in another migration, or above the statement that takes the lock: readers and writers wait from that on until the migration commits.",
  "lock-table": "remove it: each statement takes the lock that it needs, as long as it needs it.",
  "rewrites-table":
    "leave the table as it is: this rewrites all of it while its readers are blocked. If it is necessary, do it outside migrations, during maintenance.",
  "data-loss":
    "keep it for now: a later migration cannot bring its rows back. If nothing reads them any more, overrule this rule and say so.",
  ingest:
    "write through the functions of ingest, outside the migration: they keep the figures in step with the rows.",
  kept: "create a function or view under another name for new readers; or overrule this rule and say why the rows that stand are still right, or that ingest.rebuild() follows.",
  "row-type":
    "put the column into a new table with the same key; or replace each of these functions in the same migration, so that it gives the new column too, and overrule what is refused of that.",
  "whole-table-write":
    "write in batches of some thousand rows outside the migration, each in its own transaction: here all rows stay locked and other writers wait until the migration commits.",
  "concurrently-in-transaction": `put the statement ${ALONE}.`,
  "one-statement":
    "keep only one statement: graphile-migrate sends the whole file in one query, and PostgreSQL runs one query in one transaction.",
  published:
    "keep it, and add the new object beside it. Deprecate the old one (@deprecated in its comment), switch the readers, and then remove it in a migration that overrules this rule and says why it is safe.",
  cascade:
    "drop each object by its name: cascade also drops dependent objects, including those that a site has added.",
  "holds-rows": "declare it with on delete cascade or on delete set null.",
  graphql:
    "give each object a name of its own in GraphQL (smart tags @name, @fieldName and @foreignFieldName), and keep what clients read under its name and with its type, beside what is new.",
  tags: "keep the smart tags and change only the description below them: tags name fields, and show or hide them.",
  "as-of":
    "join dex_private.as_of and take the trades whose id is below its beyond, or read views that do: db/tutorial.md shows it. Or make it in a schema of EXPOSED_SCHEMAS, of which caches keep nothing for so long.",
  comment: "describe it for clients with a comment on it in the same migration.",
  grant:
    "grant it to dex_reader in the same migration, otherwise clients do not see it; objects that clients must not see belong in dex_private.",
  star: "name every column of the view: the columns of * depend on when the view was created.",
  "write-grant":
    "remove it: dex_reader reads what is granted to it by name, also as a part of public, and nothing of ingest; dex_writer writes by the functions of ingest alone.",
  "execute-grant": "grant it to the roles that call it.",
  owner: "remove it: dex_owner owns all objects of migrations.",
  role: "remove it: npm run db:roles creates the roles, and the DBA grants them to logins.",
  "row-security":
    "remove it: all rows are public, and dex_reader would see none. Data that clients must not see belong in dex_private.",
  "search-path":
    "add set search_path = '' to the function, or = pg_catalog, pg_temp, and write the schema before each name in it.",
  trigger:
    "keep the triggers as they are: they keep the data correct, and each costs every write. Overrule this rule for one that is needed, and say what it does.",
  transaction:
    "remove it: graphile-migrate runs the migration and records it in one transaction, so a failed migration leaves nothing behind.",
  "server-file": "remove it: load data with npm run load or with statements.",
  "column-type":
    "use numeric for amounts, which is exact, and timestamptz for times, which is independent of time zones.",
  unseen:
    "write plain statements, in SQL or in PL/pgSQL without execute: the linter cannot know what a text does that is put together when it runs.",
  statement:
    "write it with other statements (db/lint/allowed.ts lists them); what belongs to the server is the DBA's, outside migrations.",
  function:
    "use functions without an effect beyond their result (db/lint/functions.ts lists them), or this project's functions that are immutable or stable.",
  setting:
    "remove it: a migration may set local lock_timeout and statement_timeout. Names are found in public, or write their schema.",
  apply: "correct it; `npm run db:watch -- --once` tries it on a database.",
  syntax: "correct it; `npm run db:watch -- --once` tries it on a database.",
  overrule: "write above the statement: -- db:lint allow <rule>: <why it is safe here>.",
} as const;

const SAFE_WAYS = { ...OF_SQUAWK, ...OF_OURS };

export type Rule = keyof typeof SAFE_WAYS;

/** A broken rule, with a description. */
export interface Violation {
  rule: Rule;
  what: string;
}

/** With the number of the statement that breaks it. */
export interface Placed extends Violation {
  at: number;
}

export function isRule(name: string): name is Rule {
  return Object.hasOwn(SAFE_WAYS, name);
}

export function isSquawkRule(name: string): name is keyof typeof OF_SQUAWK {
  return Object.hasOwn(OF_SQUAWK, name);
}

/** The safe alternative, as a sentence. */
export function safeWay(rule: Rule): string {
  return SAFE_WAYS[rule];
}
