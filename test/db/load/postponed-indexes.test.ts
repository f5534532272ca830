// A first load builds the indexes when its rows are in, where nobody has to wait for that.
import { connect, type Client } from "../../../db/connect.ts";
import { checksumAddress } from "../../../db/load/checksum.ts";
import { postponeIndexes } from "../../../db/load/postponed-indexes.ts";
import { loadRows, type LoadSource, type TradeRow } from "../../../db/load/write.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { aHash, anAddress, blockAt, hours } from "../../factories.ts";

const WETH = checksumAddress(anAddress("WETH"));
const DAI = checksumAddress(anAddress("DAI"));

/** As many as are worth it, in 1,000 blocks; the last of them is of an offer of its own. */
const TRADES = 10_000;

let database: TestDatabase;
beforeEach(async () => {
  database = await makeDatabase();
});
afterEach(async () => {
  await database.drop();
});

function trade(at: number): TradeRow {
  const block = blockAt(1) + Math.floor(at / 10);
  return {
    offer_id: at === TRADES - 1 ? 2 : 1,
    maker: checksumAddress(anAddress("maker")),
    taker: checksumAddress(anAddress(`taker ${at % 7}`)),
    lot_gem: WETH,
    lot_amt: "1",
    bid_gem: DAI,
    bid_amt: String(100 + (at % 10)),
    block,
    time: hours(1 + (block - blockAt(1)) / 3600),
    tx: aHash(`trade ${at}`),
    idx: at % 10,
  };
}

function history(trades = TRADES): LoadSource {
  const { taker: _taker, idx: _idx, offer_id: _offer, ...facts } = trade(0);
  return {
    tokens: [
      { address: WETH, symbol: "WETH", decimals: 18, name: "Wrapped Ether" },
      { address: DAI, symbol: "DAI", decimals: 18, name: "Dai" },
    ],
    pairs: [{ base: "weth", quote: "dai", active: true }],
    offers: [
      { ...facts, id: 1, lot_amt: String(TRADES) },
      { ...facts, id: 2, lot_amt: "1", bid_amt: "109" },
    ],
    trades: Array.from({ length: trades }, (_, at) => trade(at)),
  };
}

async function withClient<Result>(use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await connect(database.url, { role: "dex_writer" });
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

const load = (client: Client, source = history()): Promise<unknown> =>
  loadRows(client, source, { moveHead: true });

/** What each index of the two tables is, by name, with its identity last. */
const indexes = (): Promise<Map<string, [string, string | null, number]>> =>
  withClient(async (client) => {
    const { rows } = await client.query<{
      name: string;
      definition: string;
      comment: string | null;
      oid: number;
    }>(
      `select
        indexrelid::regclass::text as name,
        pg_get_indexdef(indexrelid) as definition,
        obj_description(indexrelid, 'pg_class') as comment,
        indexrelid::integer as oid
      from pg_index
      where indrelid in ('dex_trade'::regclass, 'dex_offer'::regclass)
      order by name`,
    );
    return new Map(rows.map(({ name, ...row }) => [name, [row.definition, row.comment, row.oid]]));
  });

const UNIQUE = /^(?:dex_offer_pkey|dex_trade_pkey|dex_trade_tx_idx_key)$/;

async function commentOnOne(): Promise<void> {
  const owner = await connect(database.url, { role: "dex_owner" });
  await owner.query("comment on index dex_trade_maker_id_idx is 'A DBA''s word'");
  await owner.end();
}

it("builds them as they were, all but those that keep rows unique", async () => {
  await commentOnOne();
  const before = await indexes();

  await withClient(load);

  const after = await indexes();
  const described = (all: typeof before) =>
    [...all].map(([name, [definition, comment]]) => [name, definition, comment]);
  expect(described(after)).toEqual(described(before));
  const same = [...after].filter(([name, [, , oid]]) => before.get(name)?.[2] === oid);
  expect(same.map(([name]) => name)).toEqual([...after.keys()].filter((name) => UNIQUE.test(name)));
});

it("derives and sums the same as a load that is in no hurry", async () => {
  const figures = `select
    (select count(*) from dex_trade)::integer as trades,
    (select string_agg(distinct act || ' ' || price, ', ' order by act || ' ' || price) from dex_trade) as prices,
    (select string_agg(id || ' ' || filled, ', ' order by id) from dex_offer) as offers,
    (select to_json(market) from dex_market as market) as market`;
  await withClient(load);
  const postponed = await withClient((client) => client.query(figures));
  await database.drop();
  database = await makeDatabase();
  // The reader is connected, and stays.
  await database.reader.query("select");
  await withClient(load);
  const kept = await withClient((client) => client.query(figures));

  expect(postponed.rows).toEqual(kept.rows);
  // Of the 10,000 trades, of 1 WETH each, 9,999 are of offer 1: 1 of its 10,000 is left.
  expect(postponed.rows).toMatchObject([
    { trades: TRADES, offers: "1 false, 2 true", market: { pair: "WETH/DAI" } },
  ]);
});

describe("the indexes stay as they are", () => {
  async function expectKept(act: () => Promise<unknown>): Promise<void> {
    const before = await indexes();
    await act();
    expect(await indexes()).toEqual(before);
  }

  it("while somebody else is connected", async () => {
    await database.reader.query("select");

    await expectKept(() => withClient(load));
  });

  it("for fewer rows than are worth it", async () => {
    await expectKept(() => withClient((client) => load(client, history(100))));
  });

  it("where there are trades already", async () => {
    const [first] = history(1).trades as TradeRow[];
    await withClient((client) =>
      load(client, { ...history(0), trades: first === undefined ? [] : [first] }),
    );

    await expectKept(() => withClient(load));
  });

  it("and nobody has to wait where there are trades already", async () => {
    const [first] = history(1).trades as TradeRow[];
    await withClient(async (client) => {
      await load(client, { ...history(0), trades: first === undefined ? [] : [first] });
      await client.query("begin");
      await postponeIndexes(client, TRADES);
      const { rows } = await client.query(
        `select relation::regclass::text as table
        from pg_locks
        where pid = pg_backend_pid()
          and mode = 'AccessExclusiveLock'
          and relation in ('dex_trade'::regclass, 'dex_offer'::regclass)`,
      );
      await client.query("rollback");
      expect(rows).toEqual([]);
    });
  });

  it("after a load that failed when they were gone", async () => {
    const { offers, ...rest } = history();
    const [offer] = offers as object[];
    const broken = { ...rest, offers: [offer, { ...offer, maker: "nobody" }] } as LoadSource;

    await expectKept(() => expect(withClient((client) => load(client, broken))).rejects.toThrow());
  });

  it("where the loader may not own the tables", async () => {
    const login = `loader_${process.pid}`;
    const admin = await connect(database.url);
    await admin.query(`create role ${login} login password 'secret' in role dex_writer`);
    await admin.end();
    const url = new URL(database.url);
    url.username = login;
    url.password = "secret";
    try {
      await expectKept(async () => {
        const client = await connect(url.href, { role: "dex_writer" });
        await load(client).finally(() => client.end());
      });
    } finally {
      const dropper = await connect(database.url);
      await dropper.query(`drop role ${login}`);
      await dropper.end();
    }
  });
});
