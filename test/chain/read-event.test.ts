// The form of an event: each value within its type, and none beside those that it has.
import {
  concatHex,
  decodeEventLog,
  encodeAbiParameters,
  numberToHex,
  padHex,
  parseAbi,
  stringToHex,
  toEventSelector,
  type Hex,
} from "viem";
import { readEvent } from "../../chain/exchanges/read-event.ts";
import { seededRandom } from "./seeded-random.ts";

const EVENT =
  "event Took(uint128 indexed id, address indexed maker, address gem, uint128 amount, int24 tick, bool isBid, bytes4 reason, uint256 most)";
const abi = parseAbi([EVENT]);
const ADDRESS = "0x0014F450B8Ae7708593F4A46F8fa6E5D50620F96";
const TYPES = ["address", "uint128", "int24", "bool", "bytes4", "uint256"];

const word = (value: Hex | bigint): Hex =>
  typeof value === "bigint" ? numberToHex(value, { size: 32 }) : padHex(value, { size: 32 });
const dataOf = (tick: number): Hex =>
  encodeAbiParameters(
    TYPES.map((type) => ({ type })),
    [ADDRESS, 2n ** 128n - 1n, tick, true, "0xffffffff", 2n ** 256n - 1n],
  );
/** With another word in this place. */
const withWord = (at: number, value: Hex): Hex => {
  const data = dataOf(-5);
  return concatHex([data.slice(0, 2 + 64 * at) as Hex, value, `0x${data.slice(66 + 64 * at)}`]);
};
const read = (data: Hex, id = word(2n ** 128n - 1n), maker = word(ADDRESS), ...more: Hex[]) =>
  readEvent(
    {
      ...{ address: ADDRESS, topics: [toEventSelector(EVENT), id, maker, ...more], data },
      ...{ block: 7, hash: "0x", time: undefined, tx: "0x7", idx: 3 },
    },
    abi,
    "an exchange",
  );

it.each([-(2 ** 23), -5, 0, 2 ** 23 - 1])(
  "is that of values at the ends of their types: %s",
  (tick) => {
    expect(read(dataOf(tick)).args).toEqual({
      ...{ id: 2n ** 128n - 1n, maker: ADDRESS, gem: ADDRESS, amount: 2n ** 128n - 1n, tick },
      ...{ isBid: true, reason: "0xffffffff", most: 2n ** 256n - 1n },
    });
  },
);

const DIRTY = concatHex([padHex("0x01", { size: 12 }), ADDRESS]);
it.each<[what: string, data: Hex, ...topics: Hex[]]>([
  ["an address with more before it", withWord(0, DIRTY)],
  ["an unsigned number beyond its type", withWord(1, word(2n ** 128n))],
  ["a number above its type", withWord(2, word(2n ** 23n))],
  [
    "a number below its type",
    withWord(2, numberToHex(-(2n ** 23n) - 1n, { size: 32, signed: true })),
  ],
  ["neither true nor false", withWord(3, word(2n))],
  ["bytes with more behind them", withWord(4, padHex("0xffffffff01", { size: 32, dir: "right" }))],
  ["a word too many", concatHex([dataOf(0), word(7n)])],
  ["a word too few", dataOf(0).slice(0, -64) as Hex],
  ["an indexed number beyond its type", dataOf(0), word(2n ** 128n)],
  ["an indexed address with more before it", dataOf(0), word(1n), DIRTY],
  ["a topic too many", dataOf(0), word(1n), word(ADDRESS), word(1n)],
  ["an address in a number's place", withWord(2, word(ADDRESS))],
])("is not that of %s: it halts", (_, data, ...topics) => {
  expect(() => read(data, ...topics)).toThrow(
    expect.objectContaining({
      name: "Halt",
      message: expect.stringMatching(/^The log 3 of block 7 is no event of an exchange: /),
    }),
  );
});

describe("an event with values longer than a word", () => {
  const LONG =
    "event Listed(uint8 kind, string name, address[] makers, (uint64 id, bytes4 tag)[] orders, uint8[2] sides)";
  const longAbi = parseAbi([LONG]);
  const [{ inputs }] = longAbi;
  const values = [
    ...[3, "a name", [ADDRESS]],
    ...[[{ id: 2n ** 64n - 1n, tag: "0xffffffff" }], [255, 0]],
  ] as const;
  const DATA = encodeAbiParameters(inputs, values as never);
  const readLong = (data: Hex) =>
    readEvent(
      {
        ...{ address: ADDRESS, topics: [toEventSelector(LONG)], data },
        ...{ block: 7, hash: "0x", time: undefined, tx: "0x7", idx: 3 },
      },
      longAbi,
      "an exchange",
    ).args;
  /** With another word in the place of this one, which is there once. */
  const without = (given: Hex, other: Hex): Hex => {
    const [before, after, ...more] = DATA.split(given.slice(2));
    expect(more).toEqual([]);
    return `${before}${other.slice(2)}${after}` as Hex;
  };
  const tag = (text: Hex): Hex => padHex(text, { size: 32, dir: "right" });

  it("is read whole, in either case of its digits", () => {
    const [kind, name, makers, orders, sides] = values;
    const right = { kind, name, makers, orders, sides };
    expect(readLong(DATA)).toEqual(right);
    expect(readLong(`0x${DATA.slice(2).toUpperCase()}`)).toEqual(right);
  });

  it("may have text that is no UTF-8", () => {
    const name = stringToHex("a name").slice(2);
    expect(readLong(DATA.replace(name, "ff".repeat(6)) as Hex)).toMatchObject({
      name: "\ufffd".repeat(6),
    });
  });

  it.each<[what: string, data: () => Hex]>([
    ["a number beyond its type in a list", () => without(word(2n ** 64n - 1n), word(2n ** 64n))],
    ["one in a list of a fixed length", () => without(word(255n), word(256n))],
    ["an address with more before it", () => without(word(ADDRESS), DIRTY)],
    ["bytes with more behind them", () => without(tag("0xffffffff"), tag("0xffffffff01"))],
    ["text with more behind it", () => without(tag("0x61206e616d65"), tag("0x61206e616d6501"))],
    ["a word too many", () => concatHex([DATA, word(0n)])],
    ["a word too few", () => DATA.slice(0, -64) as Hex],
  ])("is not that of %s: it halts", (_, data) => {
    expect(() => readLong(data())).toThrow(
      expect.objectContaining({
        name: "Halt",
        message: expect.stringMatching(/^The log 3 of block 7 is no event of an exchange: \w/),
      }),
    );
  });
});

/** Ends of a type and random values, as encodeAbiParameters takes them. */
function valueOf(type: string, pick: (below: number) => number): unknown {
  if (type.endsWith("]")) return [valueOf("int24", pick), valueOf("int24", pick)];
  const [, kind = "", size = ""] = /^([a-z]+)(\d*)$/.exec(type)!;
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => pick(16).toString(16)).join("");
  if (type === "address") return `0x${hex(40)}`;
  if (type === "bool") return pick(2) === 1;
  if (type === "string") return hex(pick(100));
  if (kind === "bytes") return `0x${hex(2 * Number(size))}`;
  const bits = Number(size);
  const random = [0n, 1n, 2n ** BigInt(bits) - 1n, BigInt(`0x${hex(bits / 4)}`)][pick(4)]!;
  const value = kind === "uint" ? random : BigInt.asIntN(bits, random);
  return bits <= 48 ? Number(value) : value;
}

it("reads every type as viem does", () => {
  const pick = seededRandom(1);
  const sizes = Array.from({ length: 32 }, (_, n) => n + 1);
  const types = [
    ...["address", "bool", "string", "int24[]", "int24[2]"],
    ...sizes.flatMap((bytes) => [`uint${8 * bytes}`, `int${8 * bytes}`, `bytes${bytes}`]),
  ];
  for (let round = 0; round < 500; round += 1) {
    const inputs = Array.from({ length: 1 + pick(8) }, (_, n) => {
      // Of what is longer than a word, a topic has the hash alone.
      const type = types[round < types.length && n === 0 ? round : pick(types.length)]!;
      return { name: `value${n}`, type, indexed: n < 3 && !/string|]/.test(type) && pick(2) === 1 };
    });
    const abi = [{ type: "event", name: "Random", inputs }] as const;
    const values = inputs.map(({ type }) => valueOf(type, pick));
    const encoded = (isIndexed: boolean) =>
      inputs.flatMap((input, n) => (input.indexed === isIndexed ? [{ input, n }] : []));
    const topics = encoded(true).map(({ input, n }) => encodeAbiParameters([input], [values[n]]));
    const data = encodeAbiParameters(
      encoded(false).map(({ input }) => input),
      encoded(false).map(({ n }) => values[n]),
    );
    const log = {
      ...{ address: ADDRESS, topics: [toEventSelector(abi[0]), ...topics], data },
      ...{ block: 7, hash: "0x", time: undefined, tx: "0x7", idx: 3 },
    };
    expect(readEvent(log, abi, "an exchange")).toEqual(
      decodeEventLog({ abi, topics: log.topics as [Hex, ...Hex[]], data }),
    );
  }
});
