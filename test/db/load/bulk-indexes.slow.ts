// A load of many rows drops the indexes of trades and offers, and makes the same ones again behind the rows.
import { randomBytes } from "node:crypto";
import type { Client } from "../../../db/connect.ts";
import { verify } from "../../../db/verify/verify-database.ts";
import { emptyExchange, openClient } from "../../database.ts";
import { anOffer, aTrade, registerMarkets } from "../../factories.ts";
import { useClient, useDatabase } from "../../served.ts";

const TRADES = 10_000;

const database = useDatabase();
const client = useClient(database, "dex_owner");
beforeEach(async () => {
  await emptyExchange(client);
  await registerMarkets(client);
});

const INDEXES = `
  select pg_get_indexdef(index.indexrelid) as definition, obj_description(index.indexrelid, 'pg_class') as comment
  from pg_index as index
  where index.indrelid in ('dex_trade'::regclass, 'dex_offer'::regclass)
  order by index.indrelid, index.indexrelid`;

/** What their definitions do not say. */
const MARKS = `
  select index.indexrelid::regclass::text as name, index.indisvalid, index.indisreplident, index.indisclustered, class.reloptions, stored.spcname,
    array(select attstattarget from pg_attribute where attrelid = index.indexrelid order by attnum) as statistics
  from pg_index as index
  join pg_class as class on class.oid = index.indexrelid
  left join pg_tablespace as stored on stored.oid = class.reltablespace
  where index.indrelid in ('dex_trade'::regclass, 'dex_offer'::regclass)
  order by name`;

const CONSTRAINTS = `
  select conname, pg_get_constraintdef(oid) as definition, obj_description(oid, 'pg_constraint') as comment
  from pg_constraint
  where conrelid in ('dex_trade'::regclass, 'dex_offer'::regclass)
  order by conname`;

interface Load {
  /** Of the last trade. */
  tx?: string;
  /** How many loads were before it. */
  after?: number;
}

/** Four trades of each offer, ten offers a block, two blocks an hour. */
async function stage(of: Client, { tx, after = 0 }: Load = {}): Promise<void> {
  const offer = anOffer();
  const trade = aTrade();
  const rows = [after * TRADES, (after + 1) * TRADES];
  await of.query(
    `insert into ingest.staged_offer (line, id, pair, maker, lot_gem, lot_amt, bid_gem, bid_amt, killed, block, time, tx)
    select n, n, $1, $2, $3, 4, $4, 400, 0, $8 + n / 10, timestamptz '2026-01-01Z' + ($8 + n / 10) * interval '30 minutes', $5
    from generate_series(1 + $6::integer / 4, $7::integer / 4) as n`,
    [offer.pair, offer.maker, offer.lot_gem, offer.bid_gem, offer.tx, ...rows, 1 + after],
  );
  await of.query(
    `insert into ingest.staged_trade (line, offer_id, pair, maker, taker, lot_gem, lot_amt, bid_gem, bid_amt, block, time, tx, idx)
    select
      n, 1 + n / 4, $1, $2, $3, $4, 1, $5, 100 + n % 7, $8 + (1 + n / 4) / 10,
      timestamptz '2026-01-01Z' + ($8 + (1 + n / 4) / 10) * interval '30 minutes',
      case when n = $7 - 1 and $9::text is not null then $9 else '0x' || lpad(to_hex(n), 64, '0') end, n
    from generate_series($6::integer, $7::integer - 1) as n`,
    [trade.pair, trade.maker, trade.taker, trade.lot_gem, trade.bid_gem, ...rows, 1 + after, tx],
  );
}

async function load(after = 0, correction = ""): Promise<void> {
  await client.query("begin");
  await stage(client, { after });
  await client.query(correction);
  await client.query("select ingest.write_blocks()");
  await client.query("commit");
}

const filenodes = async (): Promise<unknown[]> => {
  const { rows } = await client.query(
    "select relname, oid from pg_class where relname like 'dex_trade_%idx' order by relname",
  );
  return rows;
};

it("leaves the indexes and constraints that there were, with their comments, and the right rows", async () => {
  await client.query(`
    comment on index dex_trade_taker_id_idx is 'by taker';
    comment on index dex_trade_tx_idx_key is 'by transaction';
    comment on constraint dex_trade_tx_idx_key on dex_trade is '@unique';
  `);
  const before = await client.query(INDEXES);
  const constraints = await client.query(CONSTRAINTS);
  const made = await filenodes();
  await load();
  expect(await filenodes()).not.toEqual(made);
  expect((await client.query(INDEXES)).rows).toEqual(before.rows);
  expect((await client.query(CONSTRAINTS)).rows).toEqual(constraints.rows);
  expect(await verify(client)).toEqual([]);
});

it("makes them again behind later loads, of a quarter of all trades or more, and finds earlier trades of new offers", async () => {
  const { rows: before } = await client.query(INDEXES);
  // The last trade is of the first offer of the next load.
  await load(0, `update ingest.own_trade set offer_id = 2501 where line = ${TRADES - 1}`);
  for (const after of [1, 2, 3]) {
    const made = await filenodes();
    await load(after, "update ingest.own_offer set lot_amt = 5 where id = 2501");
    expect(await filenodes()).not.toEqual(made);
  }
  const made = await filenodes();
  // There are 40,000 trades, and a quarter of 50,000 is more than 10,000.
  await load(4);
  expect(await filenodes()).toEqual(made);
  expect((await client.query(INDEXES)).rows.map(({ definition }) => definition).sort()).toEqual(
    before.map(({ definition }) => definition).sort(),
  );
  expect(await verify(client)).toEqual([]);
});

it("leaves them in place beside another session, as of a service, which does not wait for the load", async () => {
  const made = await filenodes();
  const reader = await openClient(database.url, { role: "dex_reader" });
  await client.query("begin");
  await stage(client);
  await client.query("select ingest.write_blocks()");
  const { rows } = await reader.query("select count(*)::integer as trades from dex_trade");
  // As autovacuum may: it counts no row of the load, in pages that are there.
  await using owner = await openClient(database.url, { role: "dex_owner" });
  await owner.query("analyze dex_trade, dex_offer");
  await client.query("commit");
  await reader.end();
  expect(rows).toEqual([{ trades: 0 }]);
  expect(await filenodes()).toEqual(made);
  expect(await verify(client)).toEqual([]);
});

it("leaves them in place where a standby streams, whose readers would be cancelled", async () => {
  const made = await filenodes();
  const url = new URL(database.url);
  url.searchParams.set("replication", "true");
  const standby = await openClient(url.href);
  await load();
  await standby.end();
  expect(await filenodes()).toEqual(made);
});

it("leaves them in place behind a load that is refused, which names the line", async () => {
  const made = await filenodes();
  await client.query("begin");
  // As the first trade, which has idx 0; the last one has another.
  await stage(client, { tx: "0x1" });
  await expect(client.query("select ingest.write_blocks()")).rejects.toThrow(
    `trades line ${TRADES - 1}.tx is "0x1"`,
  );
  await client.query("rollback");
  expect(await filenodes()).toEqual(made);
});

it("finds a trade that is recorded already, and names its line", async () => {
  await load();
  const made = await filenodes();
  await client.query("begin");
  await stage(client, { after: 1 });
  await client.query(
    "update ingest.own_trade set tx = '0x' || repeat('0', 64), idx = 0 where line = 10007",
  );
  await expect(client.query("select ingest.write_blocks()")).rejects.toThrow(/^trades? line 10007/);
  await client.query("rollback");
  expect(await filenodes()).toEqual(made);
});

it("leaves them in place where a site's foreign key refers to one", async () => {
  await client.query(`
    create table note (tx text, idx integer, constraint note_trade_fkey foreign key (tx, idx) references dex_trade (tx, idx))`);
  const made = await filenodes();
  await load();
  expect(await filenodes()).toEqual(made);
  await client.query("drop table note");
  expect(await verify(client)).toEqual([]);
});

/** In a session that ends: a load beside another one drops nothing. */
async function asSuperuser(...statements: string[]): Promise<void> {
  const superuser = await openClient(database.url);
  for (const statement of statements) await superuser.query(statement);
  await superuser.end();
}

it("leaves those in place of which a site has set what their definition does not say", async () => {
  const space = `site_${randomBytes(4).toString("hex")}`;
  await asSuperuser(
    "set allow_in_place_tablespaces = on",
    `create tablespace ${space} location ''`,
    `create unique index site_identity_idx on dex_offer (id, block);
    alter table dex_offer replica identity using index site_identity_idx;
    create publication site_publication for table dex_offer, dex_trade;
    cluster dex_trade using dex_trade_maker_id_idx;
    create index site_counted_idx on dex_trade ((block + 1));
    alter index dex_trade_tx_idx_key set (fillfactor = 70);
    alter index site_counted_idx alter column 1 set statistics 500;
    create index site_stored_idx on dex_trade (block) tablespace ${space};
    create unique index site_failed_idx on dex_trade (maker)`,
    // As a failed \`create unique index concurrently\` leaves it: one maker has many trades.
    `update pg_index set indisvalid = false, indisunique = false where indexrelid = 'site_failed_idx'::regclass`,
  );
  const marks = await client.query(MARKS);
  const made = await filenodes();
  await load();
  expect((await client.query(MARKS)).rows).toEqual(marks.rows);
  expect(await filenodes()).not.toEqual(made);
  // Without the identity of the old rows PostgreSQL refuses to change what it publishes.
  await client.query("update dex_offer set killed = killed");
  await asSuperuser(
    `alter table dex_offer replica identity default;
    drop publication site_publication;
    alter table dex_trade set without cluster;
    alter index dex_trade_tx_idx_key reset (fillfactor);
    drop index site_identity_idx, site_counted_idx, site_stored_idx, site_failed_idx`,
    `drop tablespace ${space}`,
  );
});

it("leaves them in place where a site's trigger of the rows waits for the commit", async () => {
  await client.query(`
    create function site_check() returns trigger language plpgsql as 'begin return null; end';
    create constraint trigger site_check after insert on dex_trade deferrable initially deferred
      for each row execute function site_check()`);
  const made = await filenodes();
  await load();
  expect(await filenodes()).toEqual(made);
  await client.query("drop trigger site_check on dex_trade; drop function site_check()");
});

it("makes them where they were, whatever tablespace a site has for new ones", async () => {
  const space = `site_${randomBytes(4).toString("hex")}`;
  await asSuperuser(
    "set allow_in_place_tablespaces = on",
    `create tablespace ${space} location ''`,
    `grant create on tablespace ${space} to dex_owner`,
  );
  const marks = await client.query(MARKS);
  const made = await filenodes();
  await client.query(`set default_tablespace = ${space}`);
  await load();
  await client.query("reset default_tablespace");
  expect((await client.query(MARKS)).rows).toEqual(marks.rows);
  expect(await filenodes()).not.toEqual(made);
  await asSuperuser(`drop tablespace ${space}`);
});

it.each(["sql_drop", "ddl_command_end"])(
  "leaves them in place where a site has an event trigger of %s, which may fail",
  async (event) => {
    await asSuperuser(`
      create function site_refusal() returns event_trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create event trigger site_refusal on ${event} execute function site_refusal()`);
    const made = await filenodes();
    await load();
    expect(await filenodes()).toEqual(made);
    await asSuperuser("alter event trigger site_refusal disable");
    await load(1);
    expect(await filenodes()).not.toEqual(made);
    await asSuperuser("drop event trigger site_refusal", "drop function site_refusal()");
  },
);
