// Makes up the chain of an exchange: offers made, taken in parts and killed, the same for the same seed.
import { createHash } from "node:crypto";
import {
  encodePacked,
  keccak256,
  numberToHex,
  toEventSelector,
  toRlp,
  type Address,
  type Hex,
} from "viem";
import {
  plainHeader,
  recordBlock,
  type RawBlock,
  type RawLog,
  type RawTransaction,
  type RecordedChain,
  type RecordedToken,
} from "./recorded-chain.ts";

export interface GenerateOptions {
  /** Offers made, takes and kills together; a take has three logs, the others two. */
  events: number;
  blocks: number;
  seed?: number;
  chainId?: number;
  firstBlock?: number;
  /** In seconds since 1970. */
  firstTimestamp?: number;
  secondsApart?: number;
  /** Logs of other contracts in each block that has logs. */
  foreignLogs?: number;
  /** From this block on another branch: the blocks before it are those of the same options without it. */
  fork?: { block: number; seed: number };
}

export interface GeneratedChain extends RecordedChain {
  exchange: Address;
  counts: { makes: number; takes: number; kills: number; logs: number };
}

/** An address or a hash that is the same for the same text. */
export const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
export const addressOf = (text: string): Address => `0x${digest(text).slice(0, 40)}`;

const OFFER = "bytes32,bytes32,address,address,address,uint128,uint128,uint64";
const TOPICS = {
  make: toEventSelector(`LogMake(${OFFER})`),
  kill: toEventSelector(`LogKill(${OFFER})`),
  take: toEventSelector(
    "LogTake(bytes32,bytes32,address,address,address,address,uint128,uint128,uint64)",
  ),
  trade: toEventSelector("LogTrade(uint256,address,uint256,address)"),
  update: toEventSelector("LogItemUpdate(uint256)"),
  whitelist: toEventSelector("LogAddTokenPairWhitelist(address,address)"),
  transfer: toEventSelector("Transfer(address,address,uint256)"),
};

export const token = (
  symbol: string,
  decimals: number,
  isBytes32 = false,
): RecordedToken & { symbol: string; decimals: number } => ({
  address: addressOf(`token ${symbol}`),
  symbol,
  name: `${symbol} of a generated chain`,
  decimals,
  isBytes32,
});

const WETH = token("WETH", 18);
const DAI = token("DAI", 18);
const MKR = token("MKR", 18, true);
const USDC = token("USDC", 6);
const WBTC = token("WBTC", 8);

/** Base, quote, and what a base costs in ten-thousandths of a quote. */
const MARKETS = [
  { base: WETH, quote: DAI, price: 2_000_000n },
  { base: MKR, quote: DAI, price: 5_000_000n },
  { base: MKR, quote: WETH, price: 25_000n },
  { base: WETH, quote: USDC, price: 2_000_000n },
  { base: WBTC, quote: DAI, price: 90_000_000n },
];

/** More offers than this do not stand at once. */
const MAX_STANDING = 2_000;
/** An offer with less than this part of what it had is killed. */
const DUST_PART = 1000n;

export const word = (value: bigint | number): string => value.toString(16).padStart(64, "0");
export const addressWord = (address: Address): string => address.slice(2).padStart(64, "0");
export const topicOf = (address: Address): Hex => `0x${addressWord(address)}`;

interface Offer {
  id: number;
  maker: Address;
  pay: RecordedToken;
  buy: RecordedToken;
  payAmount: bigint;
  buyAmount: bigint;
  dust: bigint;
}

/** A log that has no place yet. */
export interface Emitted {
  address: Address;
  topics: Hex[];
  data: Hex;
}

export function generateChain(options: GenerateOptions): GeneratedChain {
  const { events, blocks: length, chainId = 1, firstBlock = 1, fork } = options;
  const { firstTimestamp = 1_600_000_000, secondsApart = 12, foreignLogs = 1 } = options;
  let { seed = 1 } = options;
  let draw = randomOf(seed);
  const random = (): number => draw();
  const below = (n: number): number => Math.floor(random() * n);
  const exchange = addressOf("exchange");
  const accounts = Array.from({ length: 200 }, (_, n) => addressOf(`account ${n}`));
  const pick = <Of>(list: readonly Of[]): Of => list[below(list.length)] as Of;
  const accountOf = (): Address => pick(accounts);
  const counts = { makes: 0, takes: 0, kills: 0, logs: 0 };
  const standing: Offer[] = [];
  const pairs = new Map<string, Hex>();
  let lastId = 0;

  const pairOf = (pay: Address, buy: Address): Hex => {
    const key = pay + buy;
    let pair = pairs.get(key);
    if (pair === undefined) {
      pair = keccak256(encodePacked(["address", "address"], [pay, buy]));
      pairs.set(key, pair);
    }
    return pair;
  };

  const own = (topics: Hex[], ...words: string[]): Emitted => ({
    address: exchange,
    topics,
    data: `0x${words.join("")}`,
  });

  const ofOffer = (topic: Hex, offer: Offer, timestamp: number): Emitted[] => [
    own([TOPICS.update], word(offer.id)),
    own(
      [
        topic,
        `0x${word(offer.id)}`,
        pairOf(offer.pay.address, offer.buy.address),
        topicOf(offer.maker),
      ],
      addressWord(offer.pay.address),
      addressWord(offer.buy.address),
      word(offer.payAmount),
      word(offer.buyAmount),
      word(timestamp),
    ),
  ];

  const make = (timestamp: number): [Address, Emitted[]] => {
    const { base, quote, price } = pick(MARKETS);
    const isAsk = random() < 0.5;
    // Up to ten units of the base, to its last digit, within 5 % of the market's price.
    const baseAmount = digits(random, base.decimals + 1);
    const asked = price + (price * BigInt(below(1000) - 500)) / 10_000n;
    const quoteAmount =
      (baseAmount * asked * 10n ** BigInt(quote.decimals)) /
        (10_000n * 10n ** BigInt(base.decimals)) +
      1n;
    const payAmount = isAsk ? baseAmount : quoteAmount;
    const offer: Offer = {
      id: ++lastId,
      maker: accountOf(),
      pay: isAsk ? base : quote,
      buy: isAsk ? quote : base,
      payAmount,
      buyAmount: isAsk ? quoteAmount : baseAmount,
      dust: payAmount / DUST_PART,
    };
    standing.push(offer);
    counts.makes++;
    return [offer.maker, ofOffer(TOPICS.make, offer, timestamp)];
  };

  const kill = (offer: Offer, at: number, timestamp: number): Emitted[] => {
    const last = standing.pop();
    if (last !== undefined && last !== offer) standing[at] = last;
    counts.kills++;
    return ofOffer(TOPICS.kill, offer, timestamp);
  };

  const take = (offer: Offer, at: number, timestamp: number): [Address, Emitted[]] => {
    const taker = accountOf();
    const part = (offer.payAmount * BigInt(1 + below(999))) / 1000n;
    let quantity = random() < 0.35 ? offer.payAmount : part;
    let spent = (quantity * offer.buyAmount) / offer.payAmount;
    if (quantity === 0n || spent === 0n) [quantity, spent] = [offer.payAmount, offer.buyAmount];
    const logs = [
      own([TOPICS.update], word(offer.id)),
      own(
        [
          TOPICS.take,
          pairOf(offer.pay.address, offer.buy.address),
          topicOf(offer.maker),
          topicOf(taker),
        ],
        word(offer.id),
        addressWord(offer.pay.address),
        addressWord(offer.buy.address),
        word(quantity),
        word(spent),
        word(timestamp),
      ),
      own(
        [TOPICS.trade, topicOf(offer.pay.address), topicOf(offer.buy.address)],
        word(quantity),
        word(spent),
      ),
    ];
    counts.takes++;
    offer.payAmount -= quantity;
    offer.buyAmount -= spent;
    if (offer.payAmount === 0n) {
      const last = standing.pop();
      if (last !== undefined && last !== offer) standing[at] = last;
    } else if (
      offer.payAmount < offer.dust &&
      counts.makes + counts.takes + counts.kills < events
    ) {
      logs.push(...kill(offer, at, timestamp));
    }
    return [taker, logs];
  };

  /** The sender of the next transaction, and its logs. */
  const next = (timestamp: number): [Address, Emitted[]] => {
    const at = below(standing.length);
    const offer = standing[at];
    const chance = random();
    if (offer === undefined || (chance < 0.4 && standing.length < MAX_STANDING)) {
      return make(timestamp);
    }
    if (chance < 0.9) return take(offer, at, timestamp);
    return [offer.maker, kill(offer, at, timestamp)];
  };

  const blocks: GeneratedChain["blocks"] = [];
  let parentHash: Hex = `0x${digest(`parent of block ${firstBlock}, seed ${seed}`)}`;
  let nonce = 0;
  for (let n = 0; n < length; n++) {
    const timestamp = firstTimestamp + n * secondsApart;
    if (firstBlock + n === fork?.block) {
      seed = fork.seed;
      draw = randomOf(seed);
    }
    // A block's share is as of a random moment within it, so that some have more and some have none.
    const due = n === length - 1 ? events : Math.floor((events * (n + random())) / length);
    const transactions: [Address, Emitted[]][] = [];
    if (n === 0) {
      const whitelisted = MARKETS.map(({ base, quote }) =>
        own([TOPICS.whitelist], addressWord(base.address), addressWord(quote.address)),
      );
      transactions.push([exchange, whitelisted]);
    }
    while (counts.makes + counts.takes + counts.kills < due) transactions.push(next(timestamp));
    if (transactions.length > 0 && foreignLogs > 0) {
      const transfer = {
        address: WETH.address,
        topics: [TOPICS.transfer, topicOf(accountOf()), topicOf(accountOf())],
        data: `0x${word(1)}` as const,
      };
      transactions.unshift([accountOf(), Array.from({ length: foreignLogs }, () => transfer)]);
    }
    const { header, logs, sent } = placed(transactions, {
      number: firstBlock + n,
      parentHash,
      timestamp,
      nonce,
      exchange,
      seed,
    });
    nonce += sent.length;
    counts.logs += logs.length;
    parentHash = header.hash;
    blocks.push(recordBlock({ ...header, transactions: sent }, logs));
  }
  const tokens = [WETH, DAI, MKR, USDC, WBTC];
  return { chainId, exchange, blocks, tokens, counts };
}

/** A number of so many digits, of which the first is seldom 0. */
function digits(random: () => number, count: number): bigint {
  let found = BigInt(1 + Math.floor(random() * 9));
  for (let left = count - 1; left > 0; left -= 9) {
    const some = Math.min(left, 9);
    found = found * 10n ** BigInt(some) + BigInt(Math.floor(random() * 10 ** some));
  }
  return found;
}

interface Place {
  number: number;
  parentHash: Hex;
  timestamp: number;
  nonce: number;
  exchange: Address;
  seed: number;
}

/** Gives logs and transactions their block, and the block the hash of its header. */
export function placed(
  transactions: readonly [Address, Emitted[]][],
  { number, parentHash, timestamp, nonce, exchange, seed }: Place,
): { header: RawBlock; logs: RawLog[]; sent: RawTransaction[] } {
  const at = {
    number: numberToHex(number),
    hash: "0x" as Hex,
    parentHash,
    timestamp: numberToHex(timestamp),
  };
  const logs: RawLog[] = [];
  const sent: RawTransaction[] = [];
  for (const [index, [from, emitted]] of transactions.entries()) {
    const transactionIndex = numberToHex(index);
    const hash: Hex = `0x${digest(`${seed} ${number} ${index} ${from}`)}`;
    sent.push({
      blockHash: at.hash,
      blockNumber: at.number,
      transactionIndex,
      hash,
      from,
      to: exchange,
      input: "0x",
      value: "0x0",
      nonce: numberToHex(nonce + index),
      gas: "0x7a120",
      gasPrice: "0x3b9aca00",
      type: "0x0",
      v: "0x1b",
      r: hash,
      s: hash,
    });
    for (const { address, topics, data } of emitted) {
      logs.push({
        address,
        topics,
        data,
        blockNumber: at.number,
        transactionHash: hash,
        transactionIndex,
        blockHash: at.hash,
        blockTimestamp: at.timestamp,
        logIndex: numberToHex(logs.length),
        removed: false,
      });
    }
  }
  const root: Hex = `0x${digest(sent.map(({ hash }) => hash).join(" "))}`;
  const header = {
    ...plainHeader(at, logs),
    transactionsRoot: root,
    receiptsRoot: root,
    // Empty blocks of two branches differ.
    extraData: numberToHex(seed, { size: 4 }),
  };
  const hash = hashOf(header);
  for (const log of logs) log.blockHash = hash;
  for (const transaction of sent) transaction["blockHash"] = hash;
  return { header: { ...header, hash }, logs, sent };
}

/** The members of a header, in the order in which Ethereum hashes them. */
const HASHED = [
  ...["parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot"],
  ...["logsBloom", "difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData"],
  ...["mixHash", "nonce", "baseFeePerGas"],
];
const NUMBERS = new Set([
  ...["difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas"],
]);

/** As a node computes it, so that a client that verifies hashes finds them right. */
export function hashOf(header: Record<string, unknown>): Hex {
  const members = HASHED.map((name): Hex => {
    const value = header[name] as Hex;
    if (!NUMBERS.has(name)) return value;
    const bytes = BigInt(value).toString(16);
    return value === "0x0" ? "0x" : `0x${bytes.length % 2 === 0 ? bytes : `0${bytes}`}`;
  });
  return keccak256(toRlp(members));
}

/** Numbers from 0 to 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
