// Writes blocks of the simulated exchange without a pause, and replaces some by reorganisations, as an indexer does.
// Whenever its connection is lost, it connects again and goes on from the head of the server that it reaches.
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type Client } from "../../db/connect.ts";
import { Exchange } from "../../db/simulate/simulated-exchange.ts";
import { offerRow } from "../../db/simulate/offer.ts";
import { makeRandom } from "../../db/simulate/random.ts";
import { findActiveMarkets, restore } from "../../db/simulate/restore.ts";
import { decimal, units, type Row } from "../brute-force.ts";
import { isUnreachable } from "../../db/failure.ts";
import { aHash } from "../factories.ts";
import { readTruth, type Kept, type Truth } from "../market/live/live-truth.ts";
import type { Chain, History, WrittenBlock } from "./history.ts";

/** How long after a block the next is written. */
const EVERY_MS = 150;
/** How long after a failure the writer connects again. */
const AGAIN_MS = 100;

export interface WriterTally {
  blocks: number;
  reorganisations: number;
  /** Longest time from a block to the next, in milliseconds. */
  longestGapMs: number;
}

/** Part of a transaction: resolves to the chain that it makes of the one before. */
type Change = (chain: Chain) => Promise<Chain>;

export class BlockWriter {
  readonly #url: string;
  readonly #history: History;
  readonly #random = makeRandom(19);
  #client: Client | undefined;
  /** The chain of a transaction whose outcome is not known. */
  #pending: Chain | undefined;
  #made = 0;
  #lastAt = performance.now();
  #isOver = false;
  #isHeld = false;
  #running: Promise<void> = Promise.resolve();
  #error: Error | undefined;
  tally: WriterTally = noTally();

  constructor(url: string, history: History) {
    this.#url = url;
    this.#history = history;
  }

  start(): void {
    this.#running = this.#run();
    // `written` and `whileHeld` throw it.
    this.#running.catch((error: unknown) => (this.#error = error as Error));
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await this.#client?.end().catch(() => undefined);
  }

  /** Begins new counts. */
  countAnew(): void {
    this.tally = noTally();
    this.#lastAt = performance.now();
  }

  /** Resolves when so many blocks more are written. */
  async written(blocks: number): Promise<void> {
    const until = this.#made + blocks;
    while (this.#made < until) {
      if (this.#error !== undefined) throw this.#error;
      await sleep(20);
    }
  }

  /** Holds the data still, and does something with what the tables have then. */
  async whileHeld<T>(kept: Kept, act: (truth: Truth) => Promise<T>): Promise<T> {
    this.#isHeld = true;
    await this.#running;
    const beating = this.#beatWhileHeld();
    try {
      return await act(await this.#truth(kept));
    } finally {
      this.#isHeld = false;
      await beating;
      this.countAnew();
      this.start();
    }
  }

  async #run(): Promise<void> {
    while (!this.#isOver && !this.#isHeld) {
      try {
        await this.#step(await this.#connected());
        await sleep(EVERY_MS);
      } catch (error) {
        if (!isPassing(error)) throw error;
        await this.#drop();
        await sleep(AGAIN_MS);
      }
    }
  }

  async #connected(): Promise<Client> {
    this.#client ??= await connect(this.#url, {
      role: "dex_owner",
      applicationName: "writer",
      waitMs: 1000,
    });
    await this.#settle(this.#client);
    return this.#client;
  }

  async #drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  /** Finds out what became of the transaction that was being committed when the connection was lost. */
  async #settle(client: Client): Promise<void> {
    const pending = this.#pending;
    if (pending === undefined) return;
    const { rows } = await client.query<{ block: number; hash: string | null }>(
      "select number as block, hash from dex_block order by number desc limit 1",
    );
    const [head] = rows;
    const isAt = (chain: Chain): boolean =>
      head?.block === this.#history.headOf(chain).block &&
      head.hash === (chain.at(-1)?.hash ?? head.hash);
    if (isAt(pending)) this.#history.add(pending);
    else if (!isAt(this.#history.now)) {
      throw new Error(
        `the server's head, block ${head?.block} ${head?.hash}, is none of the writer's`,
      );
    }
    this.#pending = undefined;
  }

  async #step(client: Client): Promise<void> {
    const back = Math.min(1 + this.#random.below(3), this.#history.now.length);
    const drawn = this.#random.below(100);
    const take: Change = (chain) => this.#takeBack(client, chain, back);
    const write: Change = (chain) => this.#writeBlock(client, chain);
    if (back === 0 || drawn < 85) {
      await this.#transaction(client, [write]);
      return;
    }
    this.tally.reorganisations += 1;
    const replaced = Array.from({ length: back + 1 }, () => write);
    if (drawn < 92) await this.#transaction(client, [take, ...replaced]);
    // An indexer that takes its time: for a moment, the head is lower.
    else for (const change of [take, ...replaced]) await this.#transaction(client, [change]);
  }

  async #transaction(client: Client, changes: Change[]): Promise<void> {
    await client.query("begin");
    let chain = this.#history.now;
    for (const change of changes) chain = await change(chain);
    this.#pending = chain;
    await client.query("commit");
    const now = performance.now();
    this.#history.add(chain);
    this.#pending = undefined;
    this.tally.longestGapMs = Math.max(this.tally.longestGapMs, now - this.#lastAt);
    this.#lastAt = now;
  }

  async #takeBack(client: Client, chain: Chain, blocks: number): Promise<Chain> {
    const stands = chain.slice(0, chain.length - blocks);
    await client.query("select ingest.take_back($1)", [this.#history.headOf(stands).block]);
    return stands;
  }

  async #writeBlock(client: Client, chain: Chain): Promise<Chain> {
    const head = this.#history.headOf(chain);
    const number = head.block + 1;
    const at = head.time + 1000 * this.#random.below(this.#random.chance(5) ? 600 : 4);
    const time = new Date(at).toISOString();
    const active = await findActiveMarkets(client);
    this.#made += 1;
    // Another seed each time, so that a block that replaces another has other trades.
    const { made, killed, trades } = new Exchange(this.#made, await restore(client)).make({
      number,
      time,
      trades: this.#random.below(4),
      markets: active.filter(({ course }) => course === "traded"),
      closing: [],
    });
    const offers = made.map((offer) => offerRow(offer));
    const dead = killed.map(({ id }) => id);
    const hash = aHash(`block ${number} ${this.#made}`);
    await client.query("select ingest.write_block($1, $2, $3, $4, $5, $6, $7)", [
      ...[number, time, hash, chain.at(-1)?.hash ?? null],
      JSON.stringify(offers.map((row) => ({ ...row, killed: undefined }))),
      JSON.stringify(trades),
      dead,
    ]);
    this.tally.blocks += 1;
    const { rows } = await client.query<{ id: string; idx: string }>(
      "select id::text, idx::text from dex_trade where block = $1 order by dex_trade.id",
      [number],
    );
    const placed = ({ lot_amt, bid_amt, ...row }: { lot_amt: string; bid_amt: string }): Row => ({
      ...Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)])),
      // As the database has them.
      ...{ lot_amt: decimal(units(lot_amt)), bid_amt: decimal(units(bid_amt)) },
      ...{ block: String(number), time },
    });
    const block: WrittenBlock = {
      ...{ block: number, time: at, hash, killed: dead },
      offers: offers.map((row) => ({ ...placed(row), filled: "false" })),
      trades: trades.map((row, n) => {
        if (rows[n]?.idx !== String(row.idx)) throw new Error(`block ${number} has other trades`);
        return { ...placed(row), id: rows[n].id };
      }),
    };
    return [...chain, block];
  }

  async #truth(kept: Kept): Promise<Truth> {
    for (;;) {
      try {
        const client = await this.#connected();
        await client.query("begin isolation level repeatable read read only");
        const truth = await readTruth(client, kept);
        await client.query("commit");
        return truth;
      } catch (error) {
        if (!isPassing(error)) throw error;
        await this.#drop();
      }
    }
  }

  /** Standbys whose primary writes nothing cannot be told from standbys that are behind. */
  async #beatWhileHeld(): Promise<void> {
    while (this.#isHeld) {
      const client = await connect(this.#url, { waitMs: 1000 }).catch(() => undefined);
      await client
        ?.query("select pg_logical_emit_message(true, 'beat', '')")
        .catch(() => undefined);
      await client?.end().catch(() => undefined);
      await sleep(EVERY_MS);
    }
  }
}

const noTally = (): WriterTally => ({
  blocks: 0,
  reorganisations: 0,
  longestGapMs: 0,
});

/** A server that is a standby yet lets nobody write. */
const READ_ONLY = "25006";

const isPassing = (error: unknown): boolean =>
  isUnreachable(error) || (error as { code?: string }).code === READ_ONLY;
