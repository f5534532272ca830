// Concurrent writers write one after the other, and no writer writes on a state that it has not seen.
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../db/connect.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { contentsOf } from "../database-contents.ts";
import { openClient } from "../database.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  DAI,
  MKR,
  registerMarkets,
  registerPair,
  registerTokens,
  setHead,
  write,
  type TradeRow,
} from "../factories.ts";
import { useOwned } from "../served.ts";

/** Two writers with separate sessions. */
let one: Client;
let other: Client;
const { database, owner } = useOwned();
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
  one = await openClient(database.url, { role: "dex_writer" });
  other = await openClient(database.url, { role: "dex_writer" });
  // The server may have ended a session.
  one.on("error", () => undefined);
});
afterEach(async () => {
  await one.end();
  await other.end();
  expect(await verify(owner)).toEqual([]);
});

const takeBack = async (db: Client, hour: number): Promise<void> => {
  await db.query("select ingest.take_back($1)", [blockAt(hour)]);
};

const lastPrice = async (): Promise<string | null> => {
  const { rows } = await database.reader.query<{ last: string | null }>(
    "select trim_scale(last)::text as last from dex_price where pair = 'WETH/DAI'",
  );
  return rows[0]!.last;
};

const head = async (): Promise<number | undefined> => {
  const { rows } = await database.reader.query<{ block: number }>("select block from dex_head");
  return rows[0]?.block;
};

/** Resolves once a writer waits for another one. */
async function isWaiting(writing: Promise<unknown>): Promise<void> {
  let ended = false as boolean;
  const end = (): void => {
    ended = true;
  };
  writing.then(end, end);
  const waits = async (): Promise<boolean> => {
    const { rowCount } = await owner.query(
      `select
      from pg_locks
      where not granted
        and pid in (select pid from pg_stat_activity where datname = current_database())`,
    );
    return rowCount !== 0;
  };
  while (!(await waits())) {
    if (ended) throw new Error("the writer did not wait");
    await sleep(5);
  }
}

/** The error of a write; undefined without an error. */
const outcome = (
  writing: Promise<unknown>,
): Promise<{ message: string; code: string } | undefined> =>
  writing.then(
    () => undefined,
    (error: unknown) => error as { message: string; code: string },
  );

it("a block that is loaded without trades begins after the ids that were taken back", async () => {
  await write(one, { trades: [aTrade({ hour: 1 })] });
  await write(one, { trades: [aTrade({ hour: 2 })] });
  await takeBack(one, 1);
  await setHead(one, 3);
  await one.query("begin");
  await one.query(
    "insert into ingest.staged_block (number, time) select number + 1, time from dex_block order by number desc limit 1",
  );
  await one.query("select ingest.write_blocks()");
  await one.query("commit");
  // Ids 1 and 2 were given; the next is 3.
  const { rows } = await owner.query(
    "select first_trade::text from dex_block order by number desc limit 2",
  );
  expect(rows).toEqual([{ first_trade: "3" }, { first_trade: "3" }]);
});

describe("the second of two writers waits for the first", () => {
  it("and then writes after it, with its trades", async () => {
    await one.query("begin");
    await write(one, { trades: [aTrade({ hour: 1, quote: "101" })] });
    const second = outcome(write(other, { trades: [aTrade({ hour: 2, quote: "102" })] }));
    await isWaiting(second);
    await one.query("commit");
    expect(await second).toBeUndefined();
    expect(await lastPrice()).toBe("102");
    const { rows } = await owner.query("select id, block from dex_trade order by id");
    expect(rows).toEqual([
      { id: "1", block: blockAt(1) },
      { id: "2", block: blockAt(2) },
    ]);
  });

  it("and is then rejected if it writes the same block", async () => {
    const trades = [aTrade({ hour: 1 })];
    await one.query("begin");
    await write(one, { trades });
    const second = outcome(write(other, { trades }));
    await isWaiting(second);
    await one.query("commit");
    expect(await second).toMatchObject({
      message: expect.stringMatching(/^block 3600 is not after the head, block 3600: /),
      code: "22023",
    });
  });

  it("and writes on the old state if the first rolls back", async () => {
    await one.query("begin");
    await write(one, { trades: [aTrade({ hour: 5 })] });
    const second = outcome(write(other, { trades: [aTrade({ hour: 1, quote: "101" })] }));
    await isWaiting(second);
    await one.query("rollback");
    expect(await second).toBeUndefined();
    expect(await head()).toBe(blockAt(1));
    expect(await lastPrice()).toBe("101");
  });

  it.each([
    ["loads", "select ingest.write_blocks()"],
    ["removes blocks", "select ingest.take_back(0)"],
    ["registers a token", `select ingest.register_token('${DAI}', 'SAI', 18)`],
    ["registers a pair", `select ingest.register_pair('${MKR}', '${DAI}')`],
  ])("if it %s", async (_name, statement) => {
    await one.query("begin");
    await write(one, { trades: [aTrade({ hour: 1 })] });
    const second = outcome(other.query(statement));
    await isWaiting(second);
    await one.query("commit");
    expect(await second).toBeUndefined();
  });
});

it("twenty writers of the same chain write it once and in order", async () => {
  const clients = await Promise.all(
    Array.from({ length: 20 }, () => openClient(database.url, { role: "dex_writer" })),
  );
  const blocks = Array.from({ length: 15 }, (_, at) => at + 1);
  await Promise.all(
    clients.map(async (client) => {
      for (const hour of blocks) {
        const error = await outcome(
          write(client, { trades: [aTrade({ hour, quote: String(hour) })] }),
        );
        if (error !== undefined) expect(error.message).toMatch(/^block \d+ is not after the head/);
      }
      await client.end();
    }),
  );
  const { rows } = await owner.query<{ block: number; id: string }>(
    "select block, id from dex_trade order by id",
  );
  expect(rows.map(({ block }) => block)).toEqual(blocks.map(blockAt));
  expect(rows.map(({ id }) => Number(id))).toEqual(blocks);
  expect(await lastPrice()).toBe("15");
});

describe.each(["repeatable read", "serializable"])("a writer at %s", (level) => {
  it("writes if no other has written since its snapshot", async () => {
    await one.query(`begin isolation level ${level}`);
    await one.query("select from dex_trade");
    await write(one, { trades: [aTrade({ hour: 1 })] });
    await one.query("commit");
    expect(await head()).toBe(blockAt(1));
  });

  it.each<[string, (db: Client) => Promise<unknown>]>([
    ["a block", (db) => write(db, { trades: [aTrade({ hour: 1 })] })],
    ["an empty block", (db) => setHead(db, 1)],
    ["a token", (db) => registerTokens(db, { address: DAI, symbol: "SAI" })],
    ["a pair", (db) => registerPair(db, MKR, DAI)],
    ["less", (db) => takeBack(db, 0)],
  ])("is rejected if another has written %s since, and writes nothing", async (_name, written) => {
    await setHead(database.writer, 0.5);
    await one.query(`begin isolation level ${level}`);
    // Takes the snapshot.
    await one.query("select from dex_trade");
    await written(other);
    const before = await contentsOf(owner);
    expect(await outcome(write(one, { trades: [aTrade({ hour: 2 })] }))).toMatchObject({
      code: "40001",
    });
    await one.query("rollback");
    expect(await contentsOf(owner)).toEqual(before);
  });
});

describe("removing blocks beside a writer", () => {
  beforeEach(async () => {
    await write(database.writer, {
      offers: [anOffer({ id: 1, hour: 1, base: "1", quote: "120" })],
      trades: [aTrade({ hour: 1, offer_id: 9, quote: "101" })],
    });
  });

  it("also removes the block that was being written", async () => {
    await one.query("begin");
    await write(one, {
      offers: [anOffer({ id: 2, hour: 2, base: "1", quote: "110" })],
      trades: [aTrade({ hour: 2, offer_id: 1, quote: "999" })],
    });
    const taking = outcome(takeBack(other, 1));
    await isWaiting(taking);
    await one.query("commit");
    expect(await taking).toBeUndefined();
    expect(await head()).toBe(blockAt(1));
    expect(await lastPrice()).toBe("101");
    const { rows } = await owner.query("select id, filled from dex_offer");
    expect(rows).toEqual([{ id: 1, filled: false }]);
    expect((await owner.query("select from dex_trade")).rowCount).toBe(1);
  });

  it("makes a writer continue on the remaining blocks", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 3, quote: "103" })] });
    await one.query("begin");
    await takeBack(one, 1);
    const second = outcome(write(other, { trades: [aTrade({ hour: 2, quote: "102" })] }));
    await isWaiting(second);
    await one.query("commit");
    expect(await second).toBeUndefined();
    expect(await lastPrice()).toBe("102");
    const { rows } = await owner.query("select id from dex_trade order by id");
    // The removed trade had id 2.
    expect(rows).toEqual([{ id: "1" }, { id: "3" }]);
  });
});

describe("a writer that is killed", () => {
  it.each<[string, () => Promise<unknown>]>([
    [
      "during a block",
      () =>
        write(one, {
          offers: [anOffer({ hour: 2 })],
          trades: [aTrade({ hour: 2, quote: "102" })],
        }),
    ],
    ["during a removal", () => takeBack(one, 0)],
    ["during a registration", () => registerTokens(one, { address: DAI, symbol: "SAI" })],
  ])("%s leaves nothing and blocks no other writer", async (_name, writing) => {
    await write(database.writer, { trades: [aTrade({ hour: 1, quote: "101" })] });
    const before = await contentsOf(owner);
    const { rows } = await one.query<{ pid: number }>("select pg_backend_pid() as pid");
    await one.query("begin");
    await writing();
    await using superuser = await openClient(database.url);
    await superuser.query("select pg_terminate_backend($1, 10000)", [rows[0]!.pid]);
    expect(await contentsOf(owner)).toEqual(before);

    await write(other, { trades: [aTrade({ hour: 2, quote: "103" })] });
    expect(await lastPrice()).toBe("103");
    expect((await owner.query("select max(id) as id from dex_trade")).rows).toEqual([{ id: "2" }]);
  });

  it("during a statement leaves nothing", async () => {
    await write(database.writer, { trades: [aTrade({ hour: 1, quote: "101" })] });
    const before = await contentsOf(owner);
    const { rows } = await one.query<{ pid: number }>("select pg_backend_pid() as pid");
    const writing = outcome(one.query("select ingest.take_back(0), pg_sleep(60)"));
    await using superuser = await openClient(database.url);
    const sleeps = async (): Promise<boolean> =>
      (
        await superuser.query(
          "select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'",
          [rows[0]!.pid],
        )
      ).rowCount === 1;
    while (!(await sleeps())) await sleep(5);
    await superuser.query("select pg_terminate_backend($1, 10000)", [rows[0]!.pid]);
    expect(await writing).toBeDefined();
    expect(await contentsOf(owner)).toEqual(before);
  });
});

describe("a registration beside a writer", () => {
  it("labels the trade that was being written", async () => {
    await one.query("begin");
    await write(one, { trades: [aTrade({ hour: 1, baseGem: MKR, quoteGem: DAI })] });
    const registering = outcome(registerPair(database.writer, MKR, DAI));
    await isWaiting(registering);
    await one.query("commit");
    expect(await registering).toBeUndefined();
    const { rows } = await database.reader.query("select market, act from dex_trade");
    expect(rows).toEqual([{ market: "MKRDAI", act: "sell" }]);
  });

  it("labels a trade that waited for it", async () => {
    await one.query("begin");
    await registerPair(one, MKR, DAI);
    const writing = outcome(
      write(other, { trades: [aTrade({ hour: 1, baseGem: MKR, quoteGem: DAI })] }),
    );
    await isWaiting(writing);
    await one.query("commit");
    expect(await writing).toBeUndefined();
    const { rows } = await database.reader.query("select market from dex_trade");
    expect(rows).toEqual([{ market: "MKRDAI" }]);
  });

  it("of the same pair by two writers is registered once", async () => {
    await one.query("begin");
    await registerPair(one, MKR, DAI);
    const second = outcome(registerPair(other, DAI, MKR));
    await isWaiting(second);
    await one.query("commit");
    expect(await second).toBeUndefined();
    const { rows } = await database.reader.query(
      "select base, quote from dex_pair where base in ('MKR', 'DAI') and quote in ('MKR', 'DAI')",
    );
    expect(rows).toEqual([{ base: "DAI", quote: "MKR" }]);
  });
});

it("readers see a whole block or nothing of it", async () => {
  await setHead(database.writer, 1);
  await one.query("begin");
  await write(one, {
    offers: [anOffer({ hour: 2, base: "1", quote: "120" })],
    trades: [aTrade({ hour: 2, quote: "102" })],
  });
  const seen = async (): Promise<unknown> => {
    const { rows } = await database.reader.query(
      `select
        (select block from dex_head) as block,
        (select count(*)::integer from dex_trade) as trades,
        (select count(*)::integer from dex_offer) as offers,
        trim_scale(last)::text as last,
        trim_scale(ask)::text as ask
      from dex_market
      where pair = 'WETH/DAI'`,
    );
    return rows[0];
  };
  expect(await seen()).toEqual({ block: blockAt(1), trades: 0, offers: 0, last: null, ask: null });
  await one.query("commit");
  expect(await seen()).toEqual({
    block: blockAt(2),
    trades: 1,
    offers: 1,
    last: "102",
    ask: "120",
  });
});

describe("a writer with staged rows", () => {
  /** The statement that stages a trade of this hour. */
  const staging = (hour: number, columns: Partial<TradeRow> = {}): string => {
    const row = { line: 1, ...aTrade({ hour, ...columns }) };
    const values = Object.values(row).map((value) => `'${value}'`);
    return `insert into ingest.staged_trade (${Object.keys(row).join(", ")}) values (${values.join(", ")})`;
  };
  const written = async (): Promise<number[]> =>
    (
      await owner.query<{ number: number }>("select number from dex_block order by number")
    ).rows.map(({ number }) => number);
  const left = async (): Promise<number> =>
    (await owner.query("select from ingest.staged_trade")).rowCount!;
  const OTHERS =
    /^ingest\.staged_trade has 1 row that transaction \d+ of process \d+ staged and committed: a transaction writes only the rows that it staged itself\. Stage it again in the transaction that writes, and remove it: delete from ingest\.staged_trade where staged_by = '\d+'$/;

  afterEach(async () => {
    await owner.query("delete from ingest.staged_trade");
  });

  describe.each(["read committed", "repeatable read", "serializable"])("at %s", (level) => {
    it("writes and deletes only what its own transaction staged", async () => {
      await other.query(staging(3));
      await one.query(`begin isolation level ${level}`);
      await one.query(staging(1));
      await one.query("select ingest.write_blocks()");
      await one.query("commit");
      expect(await written()).toEqual([blockAt(1)]);
      expect(await left()).toBe(1);
    });

    it("writes nothing that another session commits after the checks", async () => {
      await one.query(`begin isolation level ${level}`);
      await one.query(staging(1));
      await owner.query("begin");
      // write_blocks reads this table after its checks and before it writes.
      await owner.query("lock dex_private.cancellation in access exclusive mode");
      const writing = outcome(one.query("select ingest.write_blocks()"));
      try {
        await isWaiting(writing);
        await other.query(staging(0.5));
        await other.query(staging(36_000));
      } finally {
        await owner.query("rollback");
      }
      expect(await writing).toBeUndefined();
      await one.query("commit");
      expect(await written()).toEqual([blockAt(1)]);
      expect(await left()).toBe(2);
    });

    it("keeps what it staged around savepoints, without what was rolled back", async () => {
      await one.query(`begin isolation level ${level}`);
      await one.query(staging(1));
      await one.query("savepoint kept");
      await one.query(staging(2));
      await one.query("savepoint undone");
      await one.query(staging(3));
      await one.query("rollback to savepoint undone");
      await one.query("release savepoint kept");
      await one.query("savepoint writing");
      await one.query("select ingest.write_blocks()");
      await one.query("commit");
      expect(await written()).toEqual([blockAt(1), blockAt(2)]);
      expect(await left()).toBe(0);
    });

    it("is refused if only another transaction staged rows, and which is named", async () => {
      await other.query(staging(1));
      await one.query(`begin isolation level ${level}`);
      expect((await outcome(one.query("select ingest.write_blocks()")))?.message).toMatch(OTHERS);
      await one.query("rollback");
      expect(await written()).toEqual([]);
      expect(await left()).toBe(1);
    });
  });

  it("is refused if it staged a part of its rows in an earlier transaction", async () => {
    await one.query(staging(1));
    await one.query("begin");
    await one.query(staging(2));
    const refused = await outcome(one.query("select ingest.write_blocks()"));
    expect(refused?.message).toMatch(OTHERS);
    await one.query("rollback");
    await one.query(/delete from .*$/.exec(refused!.message)![0]);
    expect(await left()).toBe(0);
  });

  it("loses no trade beside a writer that commits its rows one by one", async () => {
    const hoursOf = (first: number): number[] => Array.from({ length: 20 }, (_, at) => first + at);
    const careless = async (): Promise<void> => {
      for (const hour of hoursOf(1000)) {
        await other.query(staging(hour));
        expect((await outcome(other.query("select ingest.write_blocks()")))?.message).toMatch(
          /^ingest\.staged_trade has \d+ rows? that /,
        );
      }
    };
    const careful = async (): Promise<void> => {
      for (const hour of hoursOf(1)) {
        await one.query("begin");
        await one.query(staging(hour));
        await one.query("select ingest.write_blocks()");
        await one.query("commit");
      }
    };
    await Promise.all([careless(), careful()]);
    expect(await written()).toEqual(hoursOf(1).map(blockAt));
    expect(await left()).toBe(20);
  });

  it.each([
    [
      "insert a row as another",
      "insert into ingest.staged_block (number, time, staged_by) values (1, now(), '9')",
    ],
    ["change whose a row is", "update ingest.staged_block set staged_by = '9'"],
    ["change the row of another", "update ingest.staged_block set number = 1"],
  ])("cannot %s", async (_name, statement) => {
    expect(await outcome(one.query(statement))).toMatchObject({ code: "42501" });
  });
});
