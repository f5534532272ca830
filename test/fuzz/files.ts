// Folders of loader files at random: nearly right ones, most often.
import fc from "fast-check";
import { aHash, anAddress } from "../factories.ts";

const address = fc.constantFrom("a", "b", "c", "d").map(anAddress);
const time = fc.constantFrom(
  "2026-01-01T00:00:00Z",
  "2026-01-01T00:00:15Z",
  "2026-01-02T00:00:00+00",
);
const amount = fc.constantFrom("1", "0", "2.5", "0.000000000000000001", "1000000000000000000000");

const GOOD: Record<string, Record<string, fc.Arbitrary<string>>> = {
  "tokens.csv": {
    address,
    decimals: fc.constantFrom("18", "6", "0", "255"),
    symbol: fc.constantFrom("AAA", "BBB", "é", "", "A/B"),
    name: fc.constantFrom("A token", "", '"quoted, name"'),
  },
  "pairs.csv": {
    base: fc.constantFrom("AAA", "BBB", "é"),
    quote: fc.constantFrom("AAA", "BBB"),
    active: fc.constantFrom("true", "false"),
  },
  "offers.csv": {
    id: fc.nat({ max: 20 }).map(String),
    maker: address,
    lot_gem: address,
    lot_amt: amount,
    bid_gem: address,
    bid_amt: amount,
    block: fc.nat({ max: 100 }).map(String),
    time,
    tx: fc.constantFrom("x", "y", "z").map(aHash),
    killed: fc.constantFrom("0", "50", ""),
    filled: fc.constantFrom("true", "false", ""),
  },
  "trades.csv": {
    offer_id: fc.nat({ max: 20 }).map(String),
    maker: address,
    taker: address,
    lot_gem: address,
    lot_amt: amount,
    bid_gem: address,
    bid_amt: amount,
    block: fc.nat({ max: 100 }).map(String),
    time,
    tx: fc.constantFrom("x", "y", "z").map(aHash),
    idx: fc.nat({ max: 5 }).map(String),
  },
};

/** What stands in a cell that is not right. */
const odd = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 10 }),
  fc.constantFrom(
    "-1",
    "1e5",
    "NaN",
    "0x",
    "99999999999999999999999",
    '"',
    '""',
    "\u0000",
    "\ufeff",
    "2026-02-30T00:00:00Z",
    "294277-01-01T00:00:00Z",
    "'; drop table dex_trade; --",
  ),
);

const fileOf = (columns: Record<string, fc.Arbitrary<string>>): fc.Arbitrary<string> => {
  const names = Object.keys(columns);
  const header = fc.oneof(
    { weight: 30, arbitrary: fc.constant(names) },
    fc.shuffledSubarray(names),
    fc.array(fc.oneof(fc.constantFrom(...names), odd), { maxLength: 5 }),
  );
  const cell = (name: string): fc.Arbitrary<string> =>
    fc.oneof({ weight: 400, arbitrary: columns[name] ?? odd }, odd);
  return header.chain((given) =>
    fc
      .array(fc.tuple(...given.map(cell)), { maxLength: 5 })
      .map((rows) => [given, ...rows].map((row) => `${row.join(",")}\n`).join("")),
  );
};

/** The files of a folder, each by its name. */
export const folder: fc.Arbitrary<Record<string, string>> = fc
  .subarray(Object.entries(GOOD))
  .chain((files) =>
    fc.tuple(...files.map(([name, columns]) => fileOf(columns).map((text) => [name, text]))),
  )
  .map((files) => Object.fromEntries(files) as Record<string, string>);
