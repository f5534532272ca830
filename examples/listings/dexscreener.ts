// Reads the swaps of all blocks as DEX Screener's indexer does: chunks of blocks up to the latest, each once.
//
//   node dexscreener.ts http://localhost:3000 0
const [service = "http://localhost:3000", first = "0"] = process.argv.slice(2);
const CHUNK = 1000;

/** Decimals are strings: they have more digits than a number holds. */
interface Swap {
  block: { blockNumber: number };
  txnIndex: number;
  eventIndex: number;
  pairId: string;
  asset0In?: string;
  asset1Out?: string;
  asset1In?: string;
  asset0Out?: string;
  priceNative: string;
}

async function getFrom<Answer>(root: string, path: string): Promise<Answer> {
  const response = await fetch(`${service}/${root}/${path}`);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Answer;
}

const get = <Answer>(path: string): Promise<Answer> => getFrom("dexscreener", path);

async function nameOf(pairId: string): Promise<string> {
  const { pair } = await get<{ pair: { asset0Id: string; asset1Id: string } }>(`pair?id=${pairId}`);
  const symbols = [pair.asset0Id, pair.asset1Id].map(async (id) => {
    const { asset } = await get<{ asset: { symbol: string } }>(`asset?id=${id}`);
    return asset.symbol;
  });
  return (await Promise.all(symbols)).join("/");
}

const names = new Map<string, Promise<string>>();
const { block: latest } = await get<{ block: { blockNumber: number } }>("latest-block");
// The site is given the first block. No block before the first recorded one has a swap.
const { data: head } = await getFrom<{ data: { basis: { firstBlock: number } | null } }>(
  "v2",
  "head",
);
const begin = Math.max(Number(first), head.basis?.firstBlock ?? 0);
for (let from = begin; from <= latest.blockNumber; from += CHUNK) {
  const to = Math.min(from + CHUNK - 1, latest.blockNumber);
  const { events } = await get<{ events: Swap[] }>(`events?fromBlock=${from}&toBlock=${to}`);
  for (const swap of events) {
    const name = names.get(swap.pairId) ?? nameOf(swap.pairId);
    names.set(swap.pairId, name);
    const act = swap.asset0Out === undefined ? "sold" : "bought";
    console.log(
      `${swap.block.blockNumber}.${swap.txnIndex}.${swap.eventIndex} ${await name} ${act} ` +
        `${swap.asset0Out ?? swap.asset0In ?? ""} for ${swap.asset1In ?? swap.asset1Out ?? ""} ` +
        `at ${swap.priceNative}`,
    );
  }
}
