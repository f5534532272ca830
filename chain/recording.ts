// The database's side of the indexer: which blocks it has, and writing blocks through the door.
import { connect, type Client } from "../db/connect.ts";
import { pairHash } from "../db/load/checksum.ts";
import { emptyStaging, stage } from "../db/load/staging.ts";
import type { Header } from "./answers.ts";
import { isoTime, rowsOf, smallestUnits, type BlockRows } from "./block-rows.ts";
import type { Fact, MarketFact } from "./facts.ts";
import { Halt } from "./halt.ts";
import type { OpenOffer } from "./ledger.ts";
import { isRefusal, type Registry } from "./registry.ts";
import type { Block, Range } from "./source.ts";

/** A block that the database has. */
export interface Recorded {
  number: number;
  /** Null where the source of the block had none. */
  hash: string | null;
  /** Seconds since 1970. */
  time: number;
}

export interface Written {
  /** Offers, trades and cancellations. */
  rows: number;
  leftOut: number;
}

export class Recording {
  readonly #client: Client;
  readonly #registry: Registry;

  private constructor(client: Client, registry: Registry) {
    this.#client = client;
    this.#registry = registry;
  }

  /** Connects as dex_writer. */
  static async open(url: string, registry: Registry): Promise<Recording> {
    const client = await connect(url, {
      role: "dex_writer",
      applicationName: "dex-market-data index",
    });
    const recording = new Recording(client, registry);
    try {
      await registry.load(client);
    } catch (error) {
      await recording.close();
      throw error;
    }
    return recording;
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }

  /**
   * Whether this is the one indexer of the exchange now; it stays so until its connection ends. Two at once would
   * write nothing wrong, since the door takes each block once: the lock spares them the refusals. Anybody can take an
   * advisory lock, so only that of a login that may write is waited for.
   */
  async isFirst(exchange: string): Promise<boolean> {
    const { rows } = await this.#client.query<{ first: boolean }>(
      `with lock as materialized (
        select hashtextextended('dex-market-data index ' || $1, 0) as key
      )
      select pg_try_advisory_lock(lock.key) or not exists (
        select
        from pg_locks as held
        join pg_stat_activity as holder on holder.pid = held.pid
        where held.locktype = 'advisory'
          and held.granted
          and held.objsubid = 1
          and held.classid::bigint = (lock.key >> 32) & 4294967295
          and held.objid::bigint = lock.key & 4294967295
          and held.database = (select oid from pg_database where datname = current_database())
          and pg_has_role(holder.usesysid, 'dex_writer', 'member')
      ) as first
      from lock`,
      [exchange.toLowerCase()],
    );
    return rows[0]?.first === true;
  }

  /** The newest offer or trade, by its transaction; undefined without one. */
  async newestRow(): Promise<{ block: number; tx: string; hash: string | null } | undefined> {
    const { rows } = await this.#client.query<{ block: number; tx: string; hash: string | null }>(
      `select newest.block, newest.tx, block.hash
      from (
        (select block, tx from dex_trade order by id desc limit 1)
        union all
        (select block, tx from dex_offer order by block desc, id desc limit 1)
      ) as newest
      join dex_block as block on block.number = newest.block
      order by newest.block desc
      limit 1`,
    );
    return rows[0];
  }

  /** The last block; undefined in an empty database. */
  async head(): Promise<Recorded | undefined> {
    return this.#block("true");
  }

  /** The last block up to this number. */
  async blockUpTo(number: number): Promise<Recorded | undefined> {
    return this.#block("number <= $1", [number]);
  }

  async #block(condition: string, values: unknown[] = []): Promise<Recorded | undefined> {
    const { rows } = await this.#client.query<Recorded>(
      `select number, hash, extract(epoch from time)::float8 as time
      from dex_block
      where ${condition}
      order by number desc
      limit 1`,
      values,
    );
    return rows[0];
  }

  /** The offers that have something left. */
  async openOffers(): Promise<OpenOffer[]> {
    const { rows } = await this.#client.query<{
      id: number;
      block: number;
      lot_gem: string;
      lot_amt: string;
      bid_gem: string;
      bid_amt: string;
    }>(
      `select
        offer.id,
        offer.block,
        offer.lot_gem,
        trim_scale(kept.lot_amt)::text as lot_amt,
        offer.bid_gem,
        trim_scale(offer.bid_amt - coalesce(taken.bid_amt, 0))::text as bid_amt
      from dex_offer as offer
      join dex_private.offer_left as kept on kept.offer_id = offer.id
      left join lateral (
        select sum(trade.bid_amt) as bid_amt
        from dex_trade as trade
        where trade.offer_id = offer.id
      ) as taken on true
      where offer.killed = 0
        and not offer.filled`,
    );
    return rows.map(({ id, block, lot_gem, lot_amt, bid_gem, bid_amt }) => ({
      id,
      block,
      lotAmt: smallestUnits(lot_amt, this.#registry.decimalsOf(lot_gem) ?? 0),
      bidAmt: smallestUnits(bid_amt, this.#registry.decimalsOf(bid_gem) ?? 0),
    }));
  }

  /** The block of each of these offers that the database has. */
  async blocksOf(offers: readonly number[]): Promise<Map<number, number>> {
    const { rows } = await this.#client.query<{ id: number; block: number }>(
      "select id, block from dex_offer where id = any($1)",
      [offers],
    );
    return new Map(rows.map(({ id, block }) => [id, block]));
  }

  /** Takes back all blocks above this one, which the database need not have. */
  async takeBack(to: number): Promise<void> {
    await this.#client.query("select ingest.take_back($1)", [to]);
  }

  /** Writes blocks one after the other, in one transaction; before them, takes back what is above `takeBackTo`. */
  async writeBlocks(blocks: readonly Block[], takeBackTo?: number): Promise<Written> {
    const facts = blocks.flatMap((block) => block.facts);
    return this.#inTransaction(facts, async () => {
      if (takeBackTo !== undefined) {
        await this.#client.query("select ingest.take_back($1)", [takeBackTo]);
      }
      const written = { rows: 0, leftOut: 0 };
      for (const block of blocks) {
        const rows = rowsOf(block.facts, (token) => this.#registry.decimalsOf(token));
        await this.#writeBlock(block.header, rows);
        written.rows += rowCount(rows);
        written.leftOut += rows.leftOut;
      }
      return written;
    });
  }

  async #writeBlock(header: Header, { offers, trades, cancellations }: BlockRows): Promise<void> {
    for (const { block, time } of [...offers, ...trades, ...cancellations]) {
      if (time !== isoTime(header.time)) {
        throw new Halt(
          `A log of block ${block} says ${time}, and its block ${isoTime(header.time)}.`,
        );
      }
    }
    await this.#client.query(
      `select ingest.write_block(
        number => $1, at => $2, hash => $3, parent => $4, offers => $5, trades => $6, killed => $7
      )`,
      [
        header.number,
        isoTime(header.time),
        header.hash,
        header.parent,
        JSON.stringify(offers.map(withPair)),
        JSON.stringify(trades.map(withPair)),
        cancellations.map(({ offerId }) => offerId),
      ],
    );
  }

  /** Writes a range of final blocks at once, with the markets that they list. */
  async writeRange({ facts, end }: Range): Promise<Written> {
    return this.#inTransaction(facts, async () => {
      const client = this.#client;
      await this.#registry.registerMarkets(client, marketsOf(facts));
      const rows = rowsOf(facts, (token) => this.#registry.decimalsOf(token));
      const made = new Map(rows.offers.map((offer) => [offer.id, offer]));
      const cancelled: typeof rows.cancellations = [];
      for (const cancellation of rows.cancellations) {
        const offer = made.get(cancellation.offerId);
        if (offer === undefined) cancelled.push(cancellation);
        else offer.killed = cancellation.block;
      }
      await emptyStaging(client);
      await stage(client, "offers", rows.offers, () => undefined);
      await stage(client, "trades", rows.trades, () => undefined);
      await client.query(
        `insert into ingest.staged_cancellation (block, offer_id)
        select *
        from unnest($1::integer[], $2::integer[])`,
        [cancelled.map(({ block }) => block), cancelled.map(({ offerId }) => offerId)],
      );
      const blocks = blocksOf(facts, end);
      await client.query(
        `insert into ingest.staged_block (number, hash, time)
        select *
        from unnest($1::integer[], $2::text[], $3::timestamptz[])`,
        [
          blocks.map(({ number }) => number),
          blocks.map(({ hash }) => hash),
          blocks.map(({ time }) => isoTime(time)),
        ],
      );
      await client.query("select ingest.write_blocks()");
      return { rows: rowCount(rows), leftOut: rows.leftOut };
    });
  }

  /** Registers the markets that these facts leave, and their tokens. */
  async registerMarkets(markets: readonly MarketFact[]): Promise<void> {
    await this.#inTransaction(markets, () => this.#registry.registerMarkets(this.#client, markets));
  }

  /** Registers the tokens of the facts and writes, or leaves the database as it was. */
  async #inTransaction<T>(facts: readonly Fact[], write: () => Promise<T>): Promise<T> {
    const client = this.#client;
    await client.query("begin");
    try {
      await this.#registry.registerTokens(client, facts);
      const result = await write();
      await client.query("commit");
      return result;
    } catch (error) {
      // Where the connection is lost, the rollback fails too, and the first error says why.
      await client.query("rollback").catch(() => undefined);
      await this.#registry.load(client).catch(() => undefined);
      if (!isRefusal(error)) throw error;
      const { message, detail = "" } = error as Error & { detail?: string };
      const place =
        facts.length === 0 ? "" : ` in blocks ${facts[0]?.block} to ${facts.at(-1)?.block}`;
      throw new Halt(
        `The database refuses what the chain says${place}: ${message}. ${detail}`.trim(),
      );
    }
  }
}

const rowCount = ({ offers, trades, cancellations }: BlockRows): number =>
  offers.length + trades.length + cancellations.length;

const withPair = <Row extends { lot_gem: string; bid_gem: string }>({ ...row }: Row) => {
  const { block: _block, time: _time, ...rest } = row as Row & { block?: number; time?: string };
  return { ...rest, pair: pairHash(row.lot_gem, row.bid_gem) };
};

export const marketsOf = (facts: readonly Fact[]): MarketFact[] =>
  facts.filter((fact) => fact.kind === "market");

type Moment = Pick<Header, "number" | "hash" | "time">;

/** The blocks of the range that have rows, with their hashes, and its last block. */
function blocksOf(facts: readonly Fact[], end: Header): Moment[] {
  const blocks = new Map<number, Moment>([[end.number, end]]);
  for (const fact of facts) {
    if (fact.kind === "market") continue;
    const { block: number, hash, time } = fact;
    const known = blocks.get(number) ?? { number, hash, time };
    if (known.time !== time) {
      throw new Halt(
        `Block ${number} is at ${isoTime(known.time)} and, by a log, at ${isoTime(time)}.`,
      );
    }
    blocks.set(number, known);
  }
  return [...blocks.values()];
}
