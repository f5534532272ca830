// The database of each release, in test/db/releases/: its migrations by their hashes, its rows as SQL, and what it answered.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { committedMigrations } from "../../db/committed.ts";
import type { Client } from "../../db/connect.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  MKR,
  registerMarkets,
  setHead,
  WETH,
  write,
} from "../factories.ts";
import type { TestApp } from "../app.ts";

const FOLDER = fileURLToPath(new URL("./releases", import.meta.url));

export type Answers = Record<string, unknown>;

export interface ReleaseDump {
  /** File names with their hashes. */
  migrations: string[];
  /** Statements that fill a database that has just these migrations. */
  rows: string;
  answers: Answers;
}

export const dumpedReleases = (): string[] => readdirSync(FOLDER).sort();

export function readDump(release: string): ReleaseDump {
  const read = (file: string): string => readFileSync(join(FOLDER, release, file), "utf8");
  return {
    migrations: read("migrations.txt").trimEnd().split("\n"),
    rows: read("rows.sql"),
    answers: JSON.parse(read("answers.json")) as Answers,
  };
}

export function writeDump(release: string, { migrations, rows, answers }: ReleaseDump): void {
  mkdirSync(join(FOLDER, release), { recursive: true });
  const keep = (file: string, text: string): void =>
    writeFileSync(join(FOLDER, release, file), text);
  keep("migrations.txt", `${migrations.join("\n")}\n`);
  keep("rows.sql", rows);
  keep("answers.json", `${JSON.stringify(answers, undefined, 2)}\n`);
}

/** The hash is that of the content and of the migration before. */
export const migrationsNow = async (folder?: string): Promise<string[]> =>
  (await committedMigrations(folder)).map(({ file, actualHash }) => `${file} ${actualHash}`);

/** Fills every kind of table; trade 5 was taken back. */
export async function fillForDump(writer: Client): Promise<void> {
  await registerMarkets(writer);
  await write(writer, {
    offers: [
      anOffer({ id: 1, hour: 0 }),
      anOffer({ id: 2, hour: 1, killed: blockAt(2) }),
      anOffer({ id: 3, hour: 1, side: "buy", filled: true }),
      anOffer({ id: 4, hour: 1, baseGem: MKR, quoteGem: WETH }),
    ],
    trades: [
      aTrade({ hour: 1, offer_id: 1 }),
      aTrade({ hour: 2, offer_id: 1, base: "0.3", quote: "90.000000000000000001" }),
      aTrade({ hour: 2, idx: 1, offer_id: 9, side: "buy", quote: "95" }),
      aTrade({ hour: 26, offer_id: 4, baseGem: MKR, quoteGem: WETH }),
    ],
  });
  await write(writer, { trades: [aTrade({ hour: 26.1 })] });
  await writer.query("select ingest.take_back($1)", [blockAt(26)]);
  const pool = { venue: WETH, gem0: DAI, reserve0: "2000", gem1: MKR, reserve1: "1", fee: 3000 };
  await writer.query("select ingest.write_block($1, $2, pools => $3)", [
    ...[blockAt(26.2), hours(26.2), JSON.stringify([pool])],
  ]);
  await setHead(writer, 26.5);
}

/** The rows of all tables, as a superuser restores them: no trigger derives them again. */
export async function rowsAsSql(superuser: Client): Promise<string> {
  const { rows: tables } = await superuser.query<{ name: string; columns: string }>(`
    select
      format('%I.%I', schema.nspname, class.relname) as name,
      string_agg(quote_ident(attribute.attname), ', ' order by attribute.attnum) as columns
    from pg_class as class
    join pg_namespace as schema on schema.oid = class.relnamespace
    join pg_attribute as attribute on attribute.attrelid = class.oid
    where class.relkind = 'r'
      and class.relpersistence = 'p'
      and schema.nspname in ('public', 'dex_private', 'ingest')
      and attribute.attnum > 0
      and not attribute.attisdropped
      and attribute.attgenerated = ''
    group by schema.nspname, class.relname
    order by schema.nspname, class.relname
  `);
  const lines = [
    "-- Written by `npm run generate -- dump`: the rows of a small exchange.",
    "set session_replication_role = replica;",
    `truncate ${tables.map(({ name }) => name).join(", ")};`,
  ];
  for (const { name, columns } of tables) {
    const { rows } = await superuser.query<{ line: string }>(`
      select
        format(
          'insert into ${name} (${columns}) overriding system value select ${columns} from jsonb_populate_record(null::${name}, %L);',
          to_jsonb(kept)
        ) as line
      from ${name} as kept
      order by to_jsonb(kept)::text
    `);
    lines.push(...rows.map(({ line }) => line));
  }
  const { rows: sequences } = await superuser.query<{ line: string }>(`
    select format('select setval(%L, %s);', format('%I.%I', schemaname, sequencename), last_value) as line
    from pg_sequences
    where schemaname in ('public', 'dex_private', 'ingest')
      and last_value is not null
    order by line
  `);
  lines.push(...sequences.map(({ line }) => line), "reset session_replication_role;");
  return `${lines.join("\n")}\n`;
}

const PATHS = [
  ...["/v1/markets/", "/v1/markets/weth/dai", "/v1/pairs/", "/v1/prices/", "/v1/volumes/"],
  ...["/v2/prices", "/v2/volumes/mkr/weth", "/v2/trades/weth/dai?limit=2", "/v2/book/weth/dai"],
  ...["/v2/candles/weth/dai?interval=1h", "/v2/summary", "/v2/block/7200", "/v2/head"],
  `/v2/prices/weth/dai?block=${blockAt(1)}`,
];
const OPERATIONS = [
  `{ allDexTrades(orderBy: BLOCK_DESC, condition: { market: "WETHDAI" }) {
    totalCount
    nodes { id offerId market act pair maker taker lotGem lotTkn lotAmt bidGem bidTkn bidAmt price block time tx idx
      offer { id killed filled lotAmt trades { totalCount } } }
  } }`,
  `{ allDexMarkets { nodes { pair price last vol ask bid low high active } } dexHead { block time } }`,
];

export async function answersOf(app: TestApp): Promise<Answers> {
  const answers: Answers = {};
  for (const path of PATHS) {
    const { body } = await app.request.get(path).expect(200);
    answers[`GET ${path}`] = body;
  }
  for (const query of OPERATIONS) {
    const { body } = await app.request.post("/graphql").send({ query }).expect(200);
    answers[`POST ${query.replace(/\s+/g, " ")}`] = body;
  }
  return answers;
}
