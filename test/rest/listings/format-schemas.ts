// The formats as JSON Schemas, written from the pages of those who read them, not from our declarations:
// docs/listings.md says which page each is from.
import type { ValidateFunction } from "ajv/dist/2020.js";
import AjvOf2020 from "ajv/dist/2020.js";

type Schema = Record<string, unknown>;

const text: Schema = { type: "string", minLength: 1 };
/** "decimal", which the pages take as a number or a text. */
const decimal: Schema = { type: "string", pattern: "^-?\\d+(\\.\\d+)?$" };
const positive: Schema = { type: "string", pattern: "^(?=.*[1-9])\\d+(\\.\\d{1,50})?$" };
const seconds: Schema = { type: "integer", minimum: 1e9, exclusiveMaximum: 1e10 };
const milliseconds: Schema = { type: "integer", minimum: 1e12, exclusiveMaximum: 1e13 };
const address: Schema = { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" };
const level: Schema = {
  type: "array",
  prefixItems: [decimal, decimal],
  items: false,
  minItems: 2,
};
const side: Schema = { enum: ["buy", "sell"] };

const list = (items: Schema): Schema => ({ type: "array", items });
/** `?` at the end of a name: the page calls the field recommended or optional. */
function object(fields: Record<string, Schema>): Schema {
  const named = Object.entries(fields).map(([name, schema]) => [name.replace("?", ""), schema]);
  return {
    type: "object",
    properties: Object.fromEntries(named) as object,
    required: Object.keys(fields).filter((name) => !name.endsWith("?")),
    additionalProperties: false,
  };
}

const tickerId: Schema = { type: "string", pattern: "^0x[0-9a-fA-F]{40}_0x[0-9a-fA-F]{40}$" };
const geckoTrade = object({
  trade_id: { type: "integer" },
  price: decimal,
  base_volume: decimal,
  target_volume: decimal,
  trade_timestamp: seconds,
  type: side,
});

const block = object({
  blockNumber: { type: "integer", minimum: 0 },
  blockTimestamp: seconds,
  "metadata?": { type: "object" },
});
const reserves = object({ asset0: decimal, asset1: decimal });
const swap = {
  block,
  eventType: { const: "swap" },
  txnId: text,
  txnIndex: { type: "integer", minimum: 0 },
  eventIndex: { type: "integer", minimum: 0 },
  maker: text,
  pairId: text,
  priceNative: positive,
  "reserves?": reserves,
};

const cmcPair: Schema = { type: "string", pattern: "^[^_]+_[^_]+$" };

export const FORMATS = {
  "/coingecko/tickers": list(
    object({
      ticker_id: tickerId,
      base_currency: address,
      target_currency: address,
      last_price: decimal,
      base_volume: decimal,
      target_volume: decimal,
      pool_id: text,
      "liquidity_in_usd?": decimal,
      "bid?": positive,
      "ask?": positive,
      "high?": decimal,
      "low?": decimal,
    }),
  ),
  "/coingecko/pairs": list(
    object({ ticker_id: tickerId, base: address, target: address, "pool_id?": text }),
  ),
  "/coingecko/orderbook": object({
    ticker_id: tickerId,
    timestamp: milliseconds,
    bids: list(level),
    asks: list(level),
  }),
  "/coingecko/historical_trades": object({ buy: list(geckoTrade), sell: list(geckoTrade) }),
  "/coinmarketcap/summary": list(
    object({
      trading_pairs: cmcPair,
      "base_currency?": text,
      "quote_currency?": text,
      last_price: decimal,
      lowest_ask: decimal,
      highest_bid: decimal,
      base_volume: decimal,
      quote_volume: decimal,
      price_change_percent_24h: decimal,
      highest_price_24h: decimal,
      lowest_price_24h: decimal,
    }),
  ),
  "/coinmarketcap/assets": {
    type: "object",
    propertyNames: text,
    additionalProperties: object({
      "name?": { type: "string" },
      "unified_cryptoasset_id?": { type: "integer" },
      "can_withdraw?": { type: "boolean" },
      "can_deposit?": { type: "boolean" },
      "min_withdraw?": decimal,
      "max_withdraw?": decimal,
      "maker_fee?": decimal,
      "taker_fee?": decimal,
      "contractAddress?": address,
      "contractAddressUrl?": text,
    }),
  },
  "/coinmarketcap/ticker": {
    type: "object",
    propertyNames: cmcPair,
    additionalProperties: object({
      "base_id?": { type: "integer" },
      "quote_id?": { type: "integer" },
      last_price: decimal,
      base_volume: decimal,
      quote_volume: decimal,
      "isFrozen?": { enum: [0, 1] },
    }),
  },
  "/coinmarketcap/orderbook": object({
    timestamp: milliseconds,
    bids: list(level),
    asks: list(level),
  }),
  "/coinmarketcap/trades": list(
    object({
      trade_id: { type: "integer" },
      price: decimal,
      base_volume: decimal,
      quote_volume: decimal,
      timestamp: milliseconds,
      type: side,
    }),
  ),
  "/dexscreener/latest-block": object({ block }),
  "/dexscreener/asset": object({
    asset: object({
      id: text,
      name: text,
      symbol: text,
      "totalSupply?": decimal,
      "circulatingSupply?": decimal,
      "coinGeckoId?": text,
      "coinMarketCapId?": text,
    }),
  }),
  "/dexscreener/pair": object({
    pair: object({
      id: text,
      dexKey: text,
      asset0Id: text,
      asset1Id: text,
      "createdAtBlockNumber?": { type: "integer" },
      "createdAtBlockTimestamp?": seconds,
      "createdAtTxnId?": text,
      "creator?": text,
      "feeBps?": { type: "number" },
    }),
  }),
  "/dexscreener/events": object({
    events: list({
      oneOf: [
        object({ ...swap, asset0In: positive, asset1Out: positive }),
        object({ ...swap, asset1In: positive, asset0Out: positive }),
      ],
    }),
  }),
  "/udf/config": object({
    supported_resolutions: list(text),
    supports_search: { const: true },
    supports_group_request: { const: false },
    supports_marks: { type: "boolean" },
    supports_timescale_marks: { type: "boolean" },
    supports_time: { type: "boolean" },
    exchanges: list(object({ value: { type: "string" }, name: text, desc: { type: "string" } })),
    symbols_types: list(object({ name: text, value: { type: "string" } })),
  }),
  "/udf/symbols": {
    ...object({
      name: text,
      ticker: text,
      description: text,
      type: { const: "crypto" },
      session: { const: "24x7" },
      timezone: { const: "Etc/UTC" },
      "exchange-traded": text,
      "exchange-listed": text,
      minmov: { type: "integer", minimum: 1 },
      pricescale: { enum: Array.from({ length: 19 }, (_, n) => Number(`1e${n}`)) },
      has_intraday: { type: "boolean" },
      supported_resolutions: list(text),
    }),
    additionalProperties: true,
  },
  "/udf/search": list(
    object({
      symbol: text,
      full_name: text,
      description: text,
      exchange: text,
      ticker: text,
      type: { const: "crypto" },
    }),
  ),
  "/udf/history": {
    oneOf: [
      object({
        s: { const: "ok" },
        ...{ t: list(seconds), o: list({ type: "number" }), h: list({ type: "number" }) },
        ...{
          l: list({ type: "number" }),
          c: list({ type: "number" }),
          v: list({ type: "number" }),
        },
      }),
      object({ s: { const: "no_data" }, "nextTime?": seconds }),
    ],
  },
} satisfies Record<string, Schema>;

const ajv = new AjvOf2020.default({ allErrors: true, strictTypes: false });
const validators = new Map<string, ValidateFunction>(
  Object.entries(FORMATS).map(([path, schema]) => [path, ajv.compile(schema)]),
);

/** Where the answer of a path is not of its format. */
export function wrongIn(path: string, body: unknown): string[] {
  const validate = validators.get(path.split("?", 1)[0] ?? "");
  if (validate === undefined) throw new Error(`${path} has no format`);
  if (validate(body)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath} ${message ?? ""} ${JSON.stringify(params)}`,
  );
}
