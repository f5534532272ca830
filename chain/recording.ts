// Writes blocks by `ingest`, and records what they were read from and how far they are checked.
import { connect, type Client } from "../db/connect.ts";
import { stage } from "../db/load/staging.ts";
import type { Header } from "./node-answers.ts";
import { blocksOf, isoTime, rowsOf, withPair, type BlockRows } from "./block-rows.ts";
import type { Fact, MarketFact } from "./exchange-facts.ts";
import type { GivenMarket } from "./market-files.ts";
import { EXIT, Halt } from "./halt.ts";
import type { FoundContract, KnownContracts } from "./known-contracts.ts";
import { Contradiction } from "./offers-left.ts";
import { withMakers, withOfferIds } from "./offer-refs.ts";
import { stagePools, withRanges } from "./pool-states.ts";
import { lastBlock } from "./written-blocks.ts";
import { isRefusal, type Registry } from "./index-registry.ts";
import type { Block, Range } from "./source.ts";

/** What the database is filled from: it is filled from nothing else. */
export interface IndexSource {
  chainId: number;
  exchange: string;
  kind: string;
  firstBlock: number;
  taker: "event" | "sender";
}

/** How far the history is checked. */
export interface Checked {
  /** Every block up to this one was read as final, in a range. */
  rangedTo: number;
  /** Up to this final block the offers agreed with the contract's state. */
  auditedTo: number;
  /** Whether others have written blocks: what factories made in them is not known. */
  lacksContracts: boolean;
}

/** What is kept of the database over all sessions. */
interface Kept {
  registry: Registry;
  known: KnownContracts;
}

export interface Written {
  /** Offers, trades and cancellations. */
  rows: number;
  leftOut: number;
}

export class Recording {
  readonly client: Client;
  readonly #registry: Registry;
  readonly #known: KnownContracts;
  #checked: Checked = { rangedTo: -1, auditedTo: -1, lacksContracts: true };

  private constructor(client: Client, { registry, known }: Kept) {
    this.client = client;
    this.#registry = registry;
    this.#known = known;
  }

  /** Connects as dex_writer. */
  static async open(url: string, kept: Kept): Promise<Recording> {
    const client = await connect(url, {
      role: "dex_writer",
      applicationName: "dex-market-data index",
    });
    return new Recording(client, kept);
  }

  /** Learns what the database has of tokens, markets and contracts: before its turn, another indexer adds to it. */
  async load(): Promise<void> {
    await this.#registry.load(this.client);
    await this.#known.load(this.client);
  }

  async close(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }

  get checked(): Checked {
    return this.#checked;
  }

  /** Reads how far the history is checked. Resolves to whether a source is recorded. */
  async learnChecked(): Promise<boolean> {
    const { rows } = await this.client.query<Checked>(
      `select ranged_to as "rangedTo", audited_to as "auditedTo", lacks_contracts as "lacksContracts"
      from dex_private.index_source`,
    );
    this.#checked = rows[0] ?? this.#checked;
    return rows.length > 0;
  }

  /**
   * Records what the database is filled from. Throws a `Halt` where it was filled from something else. Resolves to
   * whether it had blocks without a record.
   */
  async begin({ chainId, exchange, kind, firstBlock, taker }: IndexSource): Promise<boolean> {
    try {
      const { rows } = await this.client.query<{ unrecorded: boolean }>(
        "select ingest.begin_index($1, $2, $3, $4, $5) as unrecorded",
        [chainId, exchange, kind, firstBlock, taker],
      );
      await this.learnChecked();
      await this.#known.load(this.client);
      return rows[0]?.unrecorded === true;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const { message } = error as Error;
      throw new Halt(
        `${message.replace(/^t/, "T")}. Give these settings again, or index into a new database (of the embedded one, another DATA_DIR). With the same chain, contracts, kinds and first book, or where no token is registered, this one can be filled anew: \`set role dex_writer; select ingest.take_back(-1)\` takes back all its blocks.`,
        EXIT.usage,
      );
    }
  }

  /** Writes contracts of blocks that others have written. */
  async found(found: readonly FoundContract[]): Promise<void> {
    await this.#inTransaction({ facts: [], found }, () => Promise.resolve());
  }

  async checkedTo({ rangedTo, auditedTo }: Partial<Checked>): Promise<void> {
    await this.client.query("select ingest.checked_to($1, $2)", [rangedTo, auditedTo]);
    this.#checked = {
      ...this.#checked,
      rangedTo: Math.max(rangedTo ?? -1, this.#checked.rangedTo),
      auditedTo: Math.max(auditedTo ?? -1, this.#checked.auditedTo),
    };
  }

  /** Takes back all blocks above this one, which the database need not have. */
  async takeBack(to: number): Promise<void> {
    await this.client.query("select ingest.take_back($1)", [to]);
    const head = (await lastBlock(this.client))?.number ?? -1;
    this.#known.forgetAbove(head);
    this.#registry.forgetAbove(head);
    const { rangedTo, auditedTo } = this.#checked;
    const checked = { rangedTo: Math.min(rangedTo, to), auditedTo: Math.min(auditedTo, to) };
    this.#checked = { ...this.#checked, ...checked };
  }

  /** Writes blocks one after the other, in one transaction; before them, takes back what is above `takeBackTo`. */
  async writeBlocks(blocks: readonly Block[], takeBackTo?: number): Promise<Written> {
    const facts = blocks.flatMap((block) => block.facts);
    const found = blocks.flatMap((block) => block.found);
    return this.#inTransaction({ facts, found }, async () => {
      if (takeBackTo !== undefined) await this.takeBack(takeBackTo);
      const written = { rows: 0, leftOut: 0 };
      for (const block of blocks) {
        const rows = await this.#rowsOf(block.facts);
        await this.#writeBlock(block.header, rows);
        written.rows += rowCount(rows);
        written.leftOut += rows.leftOut;
      }
      return written;
    });
  }

  async #rowsOf(facts: readonly Fact[]): Promise<BlockRows> {
    const { decimalsOf } = this.#registry;
    const made = await withMakers(this.client, await withRanges(this.client, facts, decimalsOf));
    return rowsOf(await withOfferIds(this.client, made, decimalsOf), decimalsOf);
  }

  async #writeBlock(header: Header, rows: BlockRows): Promise<void> {
    const { offers, trades, cancellations, pools } = rows;
    await this.client.query(
      `select ingest.write_block(
        number => $1, at => $2, hash => $3, parent => $4, offers => $5, trades => $6, killed => $7, pools => $8
      )`,
      [
        header.number,
        isoTime(header.time),
        header.hash,
        header.parent,
        JSON.stringify(offers.map(withPair)),
        JSON.stringify(trades.map(withPair)),
        cancellations.map(({ offerId }) => offerId),
        JSON.stringify(pools),
      ],
    );
  }

  /** Writes a range of final blocks at once, with their markets. `onStaged` is called when only the database works. */
  async writeRange({ facts, found, end }: Range, onStaged?: () => void): Promise<Written> {
    return this.#inTransaction({ facts, found }, async () => {
      const client = this.client;
      await this.#registry.registerMarkets(client, this.#registry.marketsOf(facts));
      const rows = await this.#rowsOf(facts);
      const made = new Map(rows.offers.map((offer) => [offer.id, offer]));
      const cancelled: typeof rows.cancellations = [];
      for (const cancellation of rows.cancellations) {
        const offer = made.get(cancellation.offerId);
        if (offer === undefined) cancelled.push(cancellation);
        else offer.killed = cancellation.block;
      }
      await stage(client, "offers", rows.offers, () => undefined);
      await stage(client, "trades", rows.trades, () => undefined);
      await client.query(
        `insert into ingest.staged_cancellation (block, offer_id)
        select *
        from unnest($1::integer[], $2::integer[])`,
        [cancelled.map(({ block }) => block), cancelled.map(({ offerId }) => offerId)],
      );
      await stagePools(client, rows.pools);
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
      onStaged?.();
      await client.query("select ingest.write_blocks()");
      await this.checkedTo({ rangedTo: end.number });
      return { rows: rowCount(rows), leftOut: rows.leftOut };
    });
  }

  /** Registers the markets that these facts leave, and their tokens. */
  async registerMarkets(markets: readonly MarketFact[]): Promise<void> {
    await this.#inTransaction({ facts: markets }, () =>
      this.#registry.registerMarkets(this.client, markets),
    );
  }

  /** Corrects what another list of tokens has left. */
  async correctMarkets(given: readonly GivenMarket[]): Promise<void> {
    await this.#inTransaction({ facts: [] }, () => this.#registry.correct(this.client, given));
  }

  /** Registers the tokens of the facts and writes, or leaves the database as it was. */
  async #inTransaction<T>(
    { facts, found = [] }: { facts: readonly Fact[]; found?: readonly FoundContract[] },
    write: () => Promise<T>,
  ): Promise<T> {
    const client = this.client;
    await client.query("begin");
    try {
      await this.#registry.registerTokens(client, facts);
      const result = await write();
      await this.#registry.leaveOut(client, facts);
      await this.#known.write(client, found);
      await client.query("commit");
      this.#known.written(found);
      return result;
    } catch (error) {
      // Where the connection is lost, the rollback fails too, and the first error says why.
      await client.query("rollback").catch(() => undefined);
      await this.load().catch(() => undefined);
      await this.learnChecked().catch(() => false);
      if (!isRefusal(error)) throw error;
      const { message, detail = "" } = error as Error & { detail?: string };
      const [first] = facts;
      const place =
        first === undefined ? "" : ` in blocks ${first.block} to ${facts.at(-1)?.block}`;
      const refusal =
        `The database refuses what the chain says${place}: ${message}. ${detail}`.trim();
      if (first === undefined) throw new Halt(refusal);
      throw new Contradiction(refusal, first.block);
    }
  }
}

const rowCount = ({ offers, trades, cancellations }: BlockRows): number =>
  offers.length + trades.length + cancellations.length;
