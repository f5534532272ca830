// The events of Uniswap v2 pairs and of their factory, for invented chains.
import {
  encodeAbiParameters,
  getAddress,
  numberToHex,
  padHex,
  toEventSelector,
  type Hex,
} from "viem";
import { DAI, WETH, type Act } from "./invented-chain.ts";

export const PAIR: Hex = "0x2222222222222222222222222222222222222222";
export const TO = getAddress("0x1111111111111111111111111111111111111111");
export const [FIRST, SECOND] = [getAddress(DAI), getAddress(WETH)];

export interface Event {
  topics: Hex[];
  data: Hex;
}

const event = (name: string, numbers: bigint[], addresses: Hex[] = []): Event => ({
  topics: [toEventSelector(name), ...addresses.map((address) => padHex(address, { size: 32 }))],
  data: encodeAbiParameters(
    numbers.map(() => ({ type: "uint256" })),
    numbers,
  ),
});
export const sync = (one: bigint, other: bigint): Event =>
  event("Sync(uint112,uint112)", [one, other]);
export const swap = (...amounts: [bigint, bigint, bigint, bigint]): Event =>
  event("Swap(address,uint256,uint256,uint256,uint256,address)", amounts, [PAIR, TO]);
export const mint = (one: bigint, other: bigint): Event =>
  event("Mint(address,uint256,uint256)", [one, other], [PAIR]);
export const burn = (one: bigint, other: bigint): Event =>
  event("Burn(address,uint256,uint256,address)", [one, other], [PAIR, TO]);

export const made = (count: bigint, pool: Hex = poolOf(count)): Event => ({
  topics: [
    toEventSelector("PairCreated(address,address,address,uint256)"),
    ...[FIRST, SECOND].map((token) => padHex(token, { size: 32 })),
  ],
  data: encodeAbiParameters([{ type: "address" }, { type: "uint256" }], [pool, count]),
});
/** The address of the factory's pool of this number. */
export const poolOf = (number: bigint): Hex => numberToHex(0xaaaa_0000n + number, { size: 20 });

/** A transaction with these events of one contract. */
export const act = (events: Event[], address: Hex): Act => ({
  do: "emit all",
  events: events.map((one) => ({ address, ...one })),
});
