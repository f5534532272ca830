// Makes up the chain of a factory of Uniswap v2 pairs that trade, the same for the same seed: for benchmarks.
import { toEventSelector, type Address, type Hex } from "viem";
import {
  addressOf,
  addressWord,
  digest,
  placed,
  randomOf,
  token,
  topicOf,
  word,
  type Emitted,
  type GeneratedChain,
} from "./generate.ts";
import { recordBlock } from "./recorded-chain.ts";

interface PoolsOptions {
  /** How many swaps. */
  events: number;
  blocks: number;
  pools: number;
  seed: number;
  firstTimestamp: number;
  secondsApart: number;
}

interface Pair {
  address: Address;
  reserves: [bigint, bigint];
}

const TOPICS = {
  created: toEventSelector("PairCreated(address,address,address,uint256)"),
  sync: toEventSelector("Sync(uint112,uint112)"),
  mint: toEventSelector("Mint(address,uint256,uint256)"),
  swap: toEventSelector("Swap(address,uint256,uint256,uint256,uint256,address)"),
};
const FIRST = 1;

/** The first block makes all pairs and their liquidity; the others have swaps, each with its Sync before it. */
export function generatePools(options: PoolsOptions): GeneratedChain {
  const { events, blocks: length, pools, seed, firstTimestamp, secondsApart } = options;
  const random = randomOf(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const exchange = addressOf("factory");
  const accounts = Array.from({ length: 200 }, (_, n) => addressOf(`account ${n}`));
  const counts = { makes: 0, takes: 0, kills: 0, logs: 0 };

  // As few tokens as have so many pairs.
  const tokens = Array.from({ length: Math.ceil((1 + Math.sqrt(1 + 8 * pools)) / 2) }, (_, n) =>
    token(`T${n}`, 18),
  );
  const choices = tokens.flatMap((one, n) => tokens.slice(n + 1).map((other) => [one, other]));
  const emitted = (address: Address, topics: Hex[], ...words: string[]): Emitted => ({
    ...{ address, topics },
    data: `0x${words.join("")}`,
  });
  const synced = ({ address, reserves }: Pair): Emitted =>
    emitted(address, [TOPICS.sync], ...reserves.map(word));

  const sender = topicOf(accounts[0]!);
  const made: Emitted[] = [];
  const pairs = choices.slice(0, pools).map((both, n): Pair => {
    const pair: Pair = { address: addressOf(`pair ${n}`), reserves: [10n ** 22n, 2n * 10n ** 22n] };
    const topics = [TOPICS.created, ...both.map((one) => topicOf(one.address))];
    made.push(emitted(exchange, topics, addressWord(pair.address), word(n + 1)));
    made.push(synced(pair));
    made.push(emitted(pair.address, [TOPICS.mint, sender], ...pair.reserves.map(word)));
    return pair;
  });

  const swap = (account: Address): Emitted[] => {
    const pair = pairs[below(pairs.length)]!;
    const sells = below(2);
    const [into, out] = [pair.reserves[sells]!, pair.reserves[1 - sells]!];
    // Up to a thousandth of what the pair has, by its formula.
    const paid = (into * BigInt(1 + below(1e6))) / 1_000_000_000n;
    const given = (paid * 997n * out) / (into * 1000n + paid * 997n);
    pair.reserves[sells] = into + paid;
    pair.reserves[1 - sells] = out - given;
    counts.takes += 1;
    const amounts = sells === 0 ? [paid, 0n, 0n, given] : [0n, paid, given, 0n];
    return [
      synced(pair),
      emitted(pair.address, [TOPICS.swap, sender, topicOf(account)], ...amounts.map(word)),
    ];
  };

  const blocks: GeneratedChain["blocks"] = [];
  let parentHash: Hex = `0x${digest(`parent of pools, seed ${seed}`)}`;
  for (let n = 0; n < length; n += 1) {
    const sent: [Address, Emitted[]][] = n === 0 ? [[accounts[0]!, made]] : [];
    const due = n === length - 1 ? events : Math.floor((events * (n + random())) / length);
    while (n > 0 && counts.takes < due) {
      const account = accounts[below(accounts.length)]!;
      sent.push([account, swap(account)]);
    }
    const place = { number: FIRST + n, parentHash, timestamp: firstTimestamp + n * secondsApart };
    const block = placed(sent, { ...place, nonce: 0, exchange, seed });
    counts.logs += block.logs.length;
    parentHash = block.header.hash;
    blocks.push(recordBlock({ ...block.header, transactions: block.sent }, block.logs));
  }
  return { chainId: 1, exchange, blocks, tokens, counts };
}
