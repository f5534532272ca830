// What a migration is refused for, and the safe way instead.

const ALONE =
  "in a migration of its own whose first line is `--! no-transaction`: graphile-migrate runs any other in one transaction, which CONCURRENTLY cannot be part of";

/** Those of squawk, under its names, so that its manual (squawkhq.com/docs/rules) explains them too. */
const OF_SQUAWK = {
  "require-concurrent-index-creation": `create index concurrently if not exists …, ${ALONE}. Where it is broken off, npm run db:migrate drops what is left of it, and makes it again.`,
  "require-concurrent-index-deletion": `drop index concurrently if exists …, ${ALONE}.`,
  "require-concurrent-reindex": `reindex … concurrently, ${ALONE}.`,
  "require-concurrent-partition-detach": `alter table … detach partition … concurrently, ${ALONE}.`,
  "changing-column-type":
    "add a column of the new type, have a trigger fill it for new rows, fill the old ones in batches, let the readers move over, and drop the old one in a later migration.",
  "adding-field-with-default":
    "add the column without a default, set the default by a second statement (alter column … set default …), which is for new rows, and fill the old ones in batches. A constant default rewrites nothing.",
  "adding-required-field":
    "add the column without not null, fill it in batches, and set it not null by way of a validated check (see set-not-null).",
  "adding-foreign-key-constraint":
    "add constraint … foreign key … not valid, and alter table … validate constraint … in a later migration, which blocks nobody.",
  "constraint-missing-not-valid":
    "add constraint … not valid, and alter table … validate constraint … in a later migration, which blocks nobody; in the same one, the lock of the first is held while the second reads the whole table.",
  "disallowed-unique-constraint": `create unique index concurrently …, ${ALONE}; then, in a later one, add constraint … unique using index ….`,
  "adding-serial-primary-key-field": `create unique index concurrently …, ${ALONE}; then, in a later one, add constraint … primary key using index ….`,
  "prefer-robust-stmts":
    "say if not exists, with the index's name, or if exists: without a transaction, a process that is killed may have done it and not recorded it, and the next npm run db:migrate does it again.",
  "ban-drop-not-null":
    "leave it not null: to clients, the field becomes one that may be null, which their code does not expect.",
} as const;

const OF_OURS = {
  "set-not-null":
    "add constraint … check (<column> is not null) not valid, validate it in a later migration, and set not null in one after that: PostgreSQL then trusts the check and reads nothing.",
  "lock-timeout":
    "write, above it in the same migration, set local lock_timeout = '200ms': where the lock is not to be had so soon, nothing is changed, and the migration is tried again. More than 5 s is too long for those who wait behind it. Without a transaction it has no effect.",
  "lock-table":
    "leave it out: each statement takes the lock that it needs, for as long as it needs it.",
  "rewrites-table":
    "leave the table where and as it is: this writes all of it anew while nobody can read it. What has to be is done outside migrations, with the service told to wait.",
  "whole-table-write":
    "write in batches of some thousand rows, each in a transaction of its own, outside the migration: here, all rows stay locked and other writers wait until it commits.",
  "concurrently-in-transaction": `put the statement ${ALONE}.`,
  "one-statement":
    "leave one statement in it: graphile-migrate sends the whole file at once, and PostgreSQL runs what is sent at once as one transaction after all.",
  published:
    "leave it, and add the new beside it. First tell clients that the old goes (@deprecated in its comment), then let the readers move over, and take it away by a migration that says who has agreed.",
  cascade:
    "drop each thing by its name: cascade takes along whatever has come to depend on it, also what a site has added.",
  tags: "keep the smart tags as they are, and change the words below them: by tags, fields have their names and are shown or hidden.",
  comment: "say what it is, for clients, by a comment on it in the same migration.",
  grant:
    "grant it to dex_reader in the same migration, or clients do not see it; what they shall not see belongs in dex_private.",
  star: "name every column of the view: what it shows would depend on when it was made.",
  "write-grant":
    "leave it out: dex_reader reads, and what is written is written by dex_writer. What is granted to public, dex_reader has too.",
  "execute-grant": "grant it to the roles that call it.",
  owner: "leave it out: what a migration makes is dex_owner's.",
  role: "leave it out: npm run db:roles makes the roles, and whoever looks after the server grants them to logins.",
  "row-security":
    "leave it out: all rows are public, and dex_reader would see none. What clients shall not see belongs in dex_private.",
  "search-path":
    "say, in the function's head, set search_path = '', and name its objects with their schema.",
  trigger:
    "leave the triggers on: they keep the figures right. One that changes is made by create or replace trigger; one that goes, by a migration that says what keeps its figures from then on.",
  transaction:
    "leave it out: graphile-migrate makes one transaction of the migration and its record, so that what fails leaves nothing.",
  "server-file": "leave it out: data come by npm run load, or by statements.",
  "column-type":
    "amounts are numeric, which is exact, and times are timestamptz, which is one moment everywhere.",
  unseen: "write plain statements: what a `do` block does cannot be told before it runs.",
  syntax: "mend it; `npm run db:watch -- --once` tries it on a database.",
  overrule: "write, above the statement: -- db:lint allow <rule>: <why it is safe here>.",
} as const;

const SAFE_WAYS = { ...OF_SQUAWK, ...OF_OURS };

export type Rule = keyof typeof SAFE_WAYS;

/** Why a statement is refused. */
export interface Violation {
  rule: Rule;
  what: string;
}

export function isRule(name: string): name is Rule {
  return Object.hasOwn(SAFE_WAYS, name);
}

export function isSquawkRule(name: string): name is keyof typeof OF_SQUAWK {
  return Object.hasOwn(OF_SQUAWK, name);
}

/** What to do instead, as a sentence. */
export function safeWay(rule: Rule): string {
  return SAFE_WAYS[rule];
}
