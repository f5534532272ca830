// The events of Tempo's exchange, of a pair of the tokens of the invented chain.
import {
  encodeAbiParameters,
  getAddress,
  numberToHex,
  padHex,
  toEventSelector,
  type Hex,
} from "viem";
import * as invented from "./invented-chain.ts";

export const [BASE, QUOTE] = [getAddress(invented.WETH), getAddress(invented.DAI)];
export const MAKER = getAddress(invented.MAKER);
export const TAKER: Hex = "0x1111111111111111111111111111111111111111";
export const KEY = padHex("0xaa", { size: 32 });

export const word = (value: Hex | number): Hex =>
  typeof value === "number" ? numberToHex(value, { size: 32 }) : padHex(value, { size: 32 });
const event = (
  name: string,
  topics: (Hex | number)[],
  types: string[] = [],
  values: unknown[] = [],
) => ({
  topics: [toEventSelector(name), ...topics.map(word)],
  data: encodeAbiParameters(
    types.map((type) => ({ type })),
    values,
  ),
});
export const pairMade = (key: Hex, base: Hex, quote: Hex) =>
  event("PairCreated(bytes32,address,address)", [key, base, quote]);
export const created = pairMade(KEY, BASE, QUOTE);
/** The same two tokens, the other way round. */
export const turned = pairMade(padHex("0xbb", { size: 32 }), QUOTE, BASE);
export const placed = (id: number, amount: bigint, isBid: boolean, tick: number, token = BASE) =>
  event(
    "OrderPlaced(uint128,address,address,uint128,bool,int16,bool,int16)",
    [id, MAKER, token],
    ["uint128", "bool", "int16", "bool", "int16"],
    [amount, isBid, tick, false, 0],
  );
export const filled = (id: number, amount: bigint, isPart: boolean) =>
  event(
    "OrderFilled(uint128,address,address,uint128,bool)",
    [id, MAKER, TAKER],
    ["uint128", "bool"],
    [amount, isPart],
  );
export const flipped = (id: number, amount: bigint, isBid: boolean, tick: number, token = BASE) =>
  event(
    "OrderFlipped(uint128,address,address,uint128,bool,int16,int16)",
    [id, MAKER, token],
    ["uint128", "bool", "int16", "int16"],
    [amount, isBid, tick, 0],
  );
export const failed = (id: number) =>
  event("FlipFailed(uint128,address,bytes4)", [id, MAKER], ["bytes4"], ["0x12345678"]);
export const cancelled = (id: number) => event("OrderCancelled(uint128)", [id]);
