// Plays random histories on a real chain while an indexer follows it: blocks with all kinds of transactions,
// reorganisations, and an indexer that is stopped, killed, or loses its database. Then compares what it wrote with a
// new database that is indexed from the final chain, and its figures, in the views and by REST, with brute-force.ts.
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { Address, Hex } from "viem";
import { connect } from "../../db/connect.ts";
import { verify } from "../../db/verify/verify-database.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { allRestDataAt, readWritten, restCases, type Written } from "../faults/right-answers.ts";
import { compare } from "../histories.ts";
import { startChain, type TestChain } from "./chain.ts";
import type { Exchange, StandingOffer } from "./exchange.ts";
import { caughtUp, startIndexerProcess, type Indexer } from "./indexer-process.ts";
import { comparable, indexedRows, type IndexedRows } from "./indexed-rows.ts";
import { startIndexing, type IndexingOptions } from "./indexing.ts";
import { startLyingNode, type LyingNode } from "./lying-node.ts";

const DEEPEST = 20;
const FINALITY = DEEPEST + 1;

/** What one transaction does. Some fail, as on a real chain: the offer is taken already, or of another maker. */
type Act =
  | { do: "make" | "match"; swap: [number, number]; payAmount: number; buyAmount: number }
  /** Of the offers that stood before the block: so many before the last. `thousandths` of what it has. */
  | { do: "take"; before: number; thousandths: number }
  | { do: "kill" | "bump"; before: number }
  | { do: "whitelist" | "unwhitelist"; swap: [number, number] };

interface BlockStep {
  /** Seconds after the block before. */
  after: number;
  acts: (Act & { account: number })[];
}

type Step =
  | { do: "blocks"; blocks: BlockStep[] }
  | { do: "reorganise"; depth: number; blocks: BlockStep[] }
  | { do: "wait" }
  | { do: "stop" }
  | { do: "kill" }
  | { do: "cut" }
  /** A new database is filled with a wrong setting, which is corrected. */
  | { do: "correct"; wrong: "exchange" | "first block" | "taker" };

export interface History {
  steps: Step[];
  /** Whether the indexer is a separate process: then it is killed by SIGKILL. */
  isProcess: boolean;
  /** Whether a node sends half of all headers with a wrong bloom, alone or beside an honest node. */
  blooms: "right" | "wrong" | "wrong beside an honest node";
}

/** WETH, DAI and USDC; one with 24 decimals; one without metadata. */
const swap = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom<[number, number]>([0, 1], [1, 0], [0, 2], [2, 1]) },
  { weight: 1, arbitrary: fc.constantFrom<[number, number]>([0, 3], [4, 1], [3, 4]) },
);
const amounts = {
  payAmount: fc.constantFrom(1, 2, 3, 7, 1000),
  buyAmount: fc.constantFrom(1, 2, 3, 7, 1000),
};
const before = fc.constantFrom(0, 0, 1, 1, 2, 3, 5, 9);

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("make" as const), swap, ...amounts }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("match" as const), swap, ...amounts }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("take" as const),
      before,
      thousandths: fc.constantFrom(1, 250, 333, 500, 999, 1000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("kill" as const), before }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("bump" as const), before }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("whitelist" as const), swap }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("unwhitelist" as const), swap }) },
);

const block: fc.Arbitrary<BlockStep> = fc.record({
  after: fc.constantFrom(0, 1, 1, 12, 12, 60, 3600, 6 * 3600, 24 * 3600),
  acts: fc.array(
    // A maker kills what is its own: few accounts.
    fc.tuple(act, fc.constantFrom(1, 1, 2, 3)).map(([what, account]) => ({ ...what, account })),
    { maxLength: 6 },
  ),
});
const blocks = fc.array(block, { minLength: 1, maxLength: 8 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("blocks" as const), blocks }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("reorganise" as const),
      depth: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: DEEPEST })),
      blocks,
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("stop" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("kill" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("cut" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("correct" as const),
      wrong: fc.constantFrom("exchange" as const, "first block" as const, "taker" as const),
    }),
  },
);

export const history: fc.Arbitrary<History> = fc.record({
  steps: fc.array(step, { minLength: 4, maxLength: 12 }),
  isProcess: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
  blooms: fc.oneof(
    { weight: 4, arbitrary: fc.constant("right" as const) },
    { weight: 1, arbitrary: fc.constantFrom("wrong", "wrong beside an honest node") },
  ),
});

interface Token {
  address: Address;
  unit: bigint;
}

/** What the indexer says where it has noticed that logs are missing. */
const NOTICED = /A log is missing or wrong|are not whole/;
/** So many final blocks are read once more, after which no wrong bloom is left. */
const RECHECKED = 40;

/** In this process. */
interface Started extends Indexer {
  ended: Promise<void>;
}

export interface Played {
  reorganisations: number;
  kills: number;
  /** Wrong settings that were refused and corrected. */
  corrections: number;
  /** Headers with a wrong bloom. */
  wrongBlooms: number;
  /** How often the indexer stopped because of them, with a message. */
  halts: number;
  rows: number;
  answers: number;
}

/** A chain and two databases, on which histories are played one after the other. */
export class Stage {
  readonly #chain: TestChain;
  readonly #exchange: Exchange;
  readonly #tokens: readonly Token[];
  readonly #fromBlock: number;
  readonly #database: TestDatabase;
  readonly #fresh: TestDatabase;
  /** The service of the indexed database. */
  readonly #app: TestApp;
  /** In front of the chain's node. */
  readonly #liar: LyingNode;
  #urls: string[] = [];
  #start: Hex;
  /** The state before each block since the start. */
  #snapshots: Hex[] = [];

  private constructor(made: {
    chain: TestChain;
    exchange: Exchange;
    tokens: readonly Token[];
    fromBlock: number;
    databases: [TestDatabase, TestDatabase];
    app: TestApp;
    liar: LyingNode;
    start: Hex;
  }) {
    this.#chain = made.chain;
    this.#exchange = made.exchange;
    this.#tokens = made.tokens;
    this.#fromBlock = made.fromBlock;
    [this.#database, this.#fresh] = made.databases;
    this.#app = made.app;
    this.#liar = made.liar;
    this.#start = made.start;
  }

  static async make(): Promise<Stage> {
    const chain = await startChain({ start: new Date("2026-03-01T11:00:00Z") });
    await chain.mine(2);
    const exchange = await chain.deployExchange();
    const fromBlock = Number(await chain.client.getBlockNumber());
    const tokens = [
      { address: await chain.deployToken("string", { symbol: "WETH" }), unit: 10n ** 18n },
      { address: await chain.deployToken("bytes32", { symbol: "DAI" }), unit: 10n ** 18n },
      {
        address: await chain.deployToken("string", { symbol: "USDC", decimals: 6 }),
        unit: 10n ** 6n,
      },
      {
        address: await chain.deployToken("string", { symbol: "LONG", decimals: 24 }),
        unit: 10n ** 24n,
      },
      { address: await chain.deployToken("silent"), unit: 10n ** 18n },
    ] as const;
    await exchange.whitelist(0, tokens[0].address, tokens[1].address);
    await exchange.setDust(0, tokens[1].address, tokens[1].unit / 100n);
    await exchange.setDust(0, tokens[2].address, tokens[2].unit / 2n);
    await chain.setAutomine(false);
    const database = await makeDatabase();
    return new Stage({
      ...{ chain, exchange, tokens, fromBlock },
      databases: [database, await makeDatabase()],
      app: await makeTestApp(database.reader),
      liar: await startLyingNode(chain.url),
      start: await chain.snapshot(),
    });
  }

  async close(): Promise<void> {
    await this.#app.close();
    await this.#liar.stop();
    await this.#database.drop();
    await this.#fresh.drop();
    await this.#chain.stop();
  }

  /** Throws where a row or a figure is not as it must be. */
  async play({ steps, isProcess, blooms }: History): Promise<Played> {
    const chain = this.#chain;
    const played: Played = {
      ...{ reorganisations: 0, kills: 0, corrections: 0, wrongBlooms: 0, halts: 0 },
      ...{ rows: 0, answers: 0 },
    };
    this.#urls = {
      right: [chain.url],
      wrong: [this.#liar.url],
      "wrong beside an honest node": [this.#liar.url, chain.url],
    }[blooms];
    const lie = this.#liar.lie({ name: "wrong bloom", bloom: "other", probability: 0.5 });
    await Promise.all([this.#database.empty(), this.#fresh.empty()]);
    this.#snapshots = [];
    const start = () => (isProcess ? this.#startProcess() : this.#startHere(this.#database));
    let indexer = start();
    const isNoticed = (error: unknown): boolean =>
      blooms !== "right" && NOTICED.test(String(error));
    const stop = (how: "stop" | "kill" = "stop"): Promise<void> =>
      indexer[how]().catch((error: unknown) => {
        if (!isNoticed(error)) throw error;
        played.halts += 1;
      });
    const caughtUp = async (ranged?: number): Promise<void> => {
      try {
        await this.#caughtUp(this.#database, indexer, ranged);
      } catch (error) {
        // It has noticed that logs are missing. It begins again with a node that is mended.
        if (!isNoticed(error)) throw error;
        played.halts += 1;
        lie.stop();
        indexer = start();
        await this.#caughtUp(this.#database, indexer, ranged);
      }
    };
    try {
      for (const next of steps) {
        switch (next.do) {
          case "blocks":
            for (const one of next.blocks) await this.#mine(one);
            break;
          case "reorganise": {
            const depth = Math.min(next.depth, this.#snapshots.length);
            if (depth === 0) break;
            const [state] = this.#snapshots.splice(-depth);
            await chain.revert(state!);
            for (let n = 0; n <= depth || n < next.blocks.length; n += 1) {
              await this.#mine(next.blocks[n] ?? { after: 1, acts: [] });
            }
            played.reorganisations += 1;
            break;
          }
          case "wait":
            await caughtUp();
            break;
          case "correct":
            await stop();
            await this.#correct(next.wrong);
            played.corrections += 1;
            indexer = start();
            break;
          case "cut":
            await this.#cut();
            break;
          case "stop":
            await stop();
            indexer = start();
            break;
          case "kill":
            await stop("kill");
            played.kills += 1;
            indexer = start();
        }
      }
      // All markets are final then, and a new database is filled by backfill for the most part.
      const last = Number(await chain.client.getBlockNumber());
      await chain.mine(FINALITY + (blooms === "right" ? 1 : RECHECKED));
      await caughtUp(blooms === "right" ? undefined : last);
      lie.stop();
      played.wrongBlooms = lie.count;
      const fresh = this.#startHere(this.#fresh);
      try {
        await this.#caughtUp(this.#fresh, fresh);
      } finally {
        await fresh.stop();
      }
    } finally {
      lie.stop();
      await stop();
      await chain.revert(this.#start);
      this.#start = await chain.snapshot();
    }
    Object.assign(played, await this.#compare());
    return played;
  }

  async #mine({ after, acts }: BlockStep): Promise<void> {
    const chain = this.#chain;
    this.#snapshots.push(await chain.snapshot());
    const last = await this.#exchange.lastId();
    for (const one of acts) await this.#act(one, last);
    await chain.mine(1, { secondsApart: after });
  }

  async #act({ account, ...one }: BlockStep["acts"][number], last: bigint): Promise<unknown> {
    const exchange = this.#exchange;
    switch (one.do) {
      case "make":
      case "match": {
        const [pay, buy] = one.swap.map((n) => this.#tokens[n]!) as [Token, Token];
        return exchange[one.do](account, {
          pay: pay.address,
          payAmount: BigInt(one.payAmount) * pay.unit,
          buy: buy.address,
          buyAmount: BigInt(one.buyAmount) * buy.unit,
        });
      }
      case "take": {
        const offer = await this.#standing(last, one.before);
        const quantity = ((offer?.payAmount ?? 1n) * BigInt(one.thousandths)) / 1000n;
        return exchange.take(account, offer?.id ?? 1n, quantity);
      }
      case "kill":
      case "bump": {
        const offer = await this.#standing(last, one.before);
        const maker = this.#chain.accounts.findIndex((address) => address === offer?.maker);
        return exchange[one.do](maker === -1 ? account : maker, offer?.id ?? 1n);
      }
      case "whitelist":
      case "unwhitelist": {
        const [base, quote] = one.swap.map((n) => this.#tokens[n]!.address) as [Address, Address];
        return exchange[one.do](account, base, quote);
      }
    }
  }

  /** Of the standing offers up to an id, the one that is so many before the last. */
  async #standing(last: bigint, before: number): Promise<StandingOffer | undefined> {
    let left = before;
    for (let id = last; id > 0n; id -= 1n) {
      const offer = await this.#exchange.offer(id);
      if (offer !== undefined && left-- === 0) return offer;
    }
    return undefined;
  }

  /** Fills a new database with a wrong setting; the right one is refused then, until all blocks are taken back. */
  async #correct(wrong: "exchange" | "first block" | "taker"): Promise<void> {
    await this.#database.empty();
    const height = Number(await this.#chain.client.getBlockNumber());
    const settings = {
      exchange: { exchange: this.#tokens[0]!.address },
      "first block": { fromBlock: Math.ceil((this.#fromBlock + 1 + height) / 2) },
      taker: { taker: "sender" as const },
    };
    const rpcUrls = [this.#chain.url];
    const filling = this.#startHere(this.#database, { rpcUrls, ...settings[wrong] });
    try {
      await this.#caughtUp(this.#database, filling);
    } finally {
      await filling.stop();
    }
    const refused = this.#startHere(this.#database);
    const said = await refused.ended.then(
      () => "nothing",
      (error: unknown) => String(error),
    );
    if (!said.includes("The database was filled from")) {
      throw new Error(`another ${wrong} is not refused: it says ${said}`);
    }
    await this.#database.writer.query("select ingest.take_back(-1)");
  }

  #startHere({ url: databaseUrl }: TestDatabase, wrong: Partial<IndexingOptions> = {}): Started {
    const indexing = startIndexing({
      ...{ databaseUrl, url: this.#chain.url, exchange: this.#exchange.address },
      ...{ fromBlock: this.#fromBlock, finality: FINALITY, rpcUrls: this.#urls, ...wrong },
    });
    const stop = () => indexing.stop();
    return {
      ended: indexing.ended,
      check: () => Promise.race([indexing.ended, sleep(0)]),
      stop,
      kill: stop,
    };
  }

  #startProcess(): Indexer {
    return startIndexerProcess(this.#database, {
      ...{ RPC_URL: this.#urls.join(), EXCHANGE: this.#exchange.address },
      ...{ FROM_BLOCK: String(this.#fromBlock), FINALITY: String(FINALITY) },
    });
  }

  #caughtUp(database: TestDatabase, indexer: Indexer, ranged?: number): Promise<void> {
    return caughtUp(this.#chain, database, indexer, ranged);
  }

  /** Ends the indexer's connection to the database. */
  async #cut(): Promise<void> {
    const admin = await connect(this.#database.url);
    await admin.query(
      `select pg_terminate_backend(pid)
      from pg_stat_activity
      where application_name = 'dex-market-data index'
        and datname = current_database()`,
    );
    await admin.end();
  }

  /** Returns how many rows and how many answers of REST were compared. */
  async #compare(): Promise<Pick<Played, "rows" | "answers">> {
    const [rows, right] = await Promise.all(
      [this.#database, this.#fresh].map(async ({ owner }) => comparable(await indexedRows(owner))),
    );
    for (const kind of Object.keys(right!) as (keyof IndexedRows)[]) {
      if (isDeepStrictEqual(rows![kind], right![kind])) continue;
      throw new Error(
        `the ${kind} are\n${JSON.stringify(rows![kind])}\nand indexed afresh\n${JSON.stringify(right![kind])}`,
      );
    }
    const client = await connect(this.#database.url, { role: "dex_owner" });
    try {
      const written = await readWritten(client);
      await compare(client, { recording: written.recording, moment: written.head });
      const [difference] = await verify(client);
      if (difference !== undefined) {
        throw new Error(
          `${difference.row} is ${difference.kept}, and should be ${difference.right}`,
        );
      }
      const { offers, trades, cancellations } = right!;
      return {
        rows: offers.length + trades.length + cancellations.length,
        answers: await this.#compareAnswers(written),
      };
    } finally {
      await client.end();
    }
  }

  /** Returns how many answers were compared. */
  async #compareAnswers({ recording, head }: Written): Promise<number> {
    const cases = restCases(allRestDataAt(recording, head), head);
    for (const { path, right } of cases) {
      const { text } = await this.#app.request.get(path);
      if (text === JSON.stringify(right)) continue;
      throw new Error(`${path} is\n${text}\nand should be\n${JSON.stringify(right)}`);
    }
    return cases.length;
  }
}
