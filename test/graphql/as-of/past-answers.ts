// Queries that read everything GraphQL offers, and what their answers have beside cursors' blocks.

const TRADE =
  "id offerId market act pair maker taker lotAmt bidAmt price price50 block time tx idx venue";
const OFFER = "id block killed filled market act pair maker lotAmt bidAmt price time tx venue ref";
const PAGE = "totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }";

/** The selections of operations, by name; `$trade`, `$offer` and `$market` are of the history. */
export const SELECTIONS: Readonly<Record<string, string>> = {
  trades: `
    allDexTrades(first: 3, orderBy: BLOCK_DESC) { nodes { ${TRADE} offer { ${OFFER} } } ${PAGE} }
    oldest: allDexTrades(last: 2, orderBy: [MARKET_DESC, TIME_DESC]) { edges { cursor node { id market } } ${PAGE} }
    ofMarket: allDexTrades(condition: { market: $market }) { nodes { id } ${PAGE} }
    unknown: allDexTrades(condition: { market: null }) { nodes { id } ${PAGE} }
    sold: allDexTrades(filter: { act: { equalTo: "sell" } }, offset: 1) { nodes { id } ${PAGE} }
    ofTaker: allDexTrades(condition: { market: $market, taker: "nobody" }) { totalCount }
    dexTrade(id: $trade) { ${TRADE} offer { id killed filled } }
  `,
  total: "allDexTrades(condition: { market: $market }) { totalCount nodes { id } }",
  offers: `
    allDexOffers(orderBy: BLOCK_DESC) {
      nodes { ${OFFER} trades(first: 2, orderBy: ID_DESC) { nodes { id } ${PAGE} } }
      ${PAGE}
    }
    filled: allDexOffers(filter: { filled: { equalTo: true } }) { nodes { id } ${PAGE} }
    cancelled: allDexOffers(filter: { killed: { greaterThan: 0 } }) { nodes { id } totalCount }
    open: allDexOffers(condition: { killed: 0, filled: false, market: $market }) { nodes { id } totalCount }
    dexOffer(id: $offer) { ${OFFER} trades { totalCount nodes { id offer { filled } } } }
  `,
  markets: `
    dexHead { block time }
    allDexPairs(first: 2, orderBy: ACTIVE_ASC) {
      nodes {
        base quote active market
        baseToken { symbol pairsAsBase { totalCount nodes { base active } } }
        dexMarket { last active bid ask vol }
        dexPrice { vwap24h }
        dexVolume { vol }
        dexSummary { open high spread trades dexPair { active } }
      }
      ${PAGE}
    }
    active: allDexPairs(condition: { active: true }) { nodes { market } totalCount }
    dexPairByMarket(market: $market) { active }
    allDexMarkets { nodes { pair price last vol ask bid low high active } totalCount }
    inactive: allDexMarkets(filter: { active: { equalTo: false } }) { edges { cursor node { pair } } }
    allDexPrices { nodes { pair vwap24h vwap12h vwap6h vwap1h last } }
    allDexVolumes { nodes { pair vol } }
    allDexSummaries { nodes { pair lastTime open change percent } }
    allDexTokens { nodes { symbol decimals name } totalCount }
  `,
  functions: `
    dexBook(base: $base, quote: $quote) { nodes { act price vol quoteVol offers } ${PAGE} }
    dexCandles(base: $base, quote: $quote, interval: "1h") { nodes { time open close vol trades complete } }
    flat: dexCandles(base: $base, quote: $quote, interval: "1m", empty: "flat", limit: 3) { edges { cursor node { time close } } }
    dexLiquidity(usdTokens: [$quote]) { nodes { pair liquidityInUsd } }
    dexUsdVolume(usdTokens: [$quote]) { nodes { pair volumeInUsd through } }
  `,
};

export interface Named {
  trade: string;
  offer: number;
  base: string;
  quote: string;
  block?: number;
}

const TYPES = {
  trade: "BigInt!",
  offer: "Int!",
  market: "String!",
  base: "String",
  quote: "String",
  block: "Int!",
};

/** An operation with the variables that its selection has, and its values. */
export function operationOf(
  selection: string,
  { base, quote, ...named }: Named,
  directive = "",
): { query: string; variables: Record<string, unknown> } {
  const all: Record<string, unknown> = { ...named, base, quote, market: `${base}${quote}` };
  const used = Object.entries(TYPES).filter(([name]) =>
    `${directive} ${selection}`.includes(`$${name}`),
  );
  const declared = used.map(([name, type]) => `$${name}: ${type}`).join(", ");
  return {
    query: `query ${declared === "" ? "" : `(${declared})`} ${directive} { ${selection} }`,
    variables: Object.fromEntries(used.map(([name]) => [name, all[name]])),
  };
}

/** An answer with the cursors that one of the head would have. */
export const withoutMarks = <T>(answer: T): T =>
  JSON.parse(JSON.stringify(answer), (name, value: unknown) => {
    if (!/cursor$/i.test(name) || typeof value !== "string") return value;
    const [mark, ...rest] = JSON.parse(Buffer.from(value, "base64").toString()) as unknown[];
    if (typeof mark !== "string" || !mark.startsWith("as of block "))
      throw new Error(`${value} carries no block`);
    return Buffer.from(JSON.stringify(rest)).toString("base64");
  }) as T;
