// Comparisons that no index serves are tests of each row that is read: their number is part of the cost.
import { registerMarkets } from "../../factories.ts";
import { ask } from "../../graphql.ts";
import { serveRecorded } from "../../served.ts";

const { app, statements } = serveRecorded(registerMarkets, { cache: "off" });

const QUERY = `query ($filter: DexTradeFilter!) {
  allDexTrades(first: 1, filter: $filter) { nodes { id } }
}`;

const any = (count: number, comparison: object): object => ({
  or: Array.from({ length: count }, () => comparison),
});
const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `0x${n}`);
const price = { price: { lessThan: "1" } };
const taker = { taker: { equalToInsensitive: "0x" } };

it.each([
  ["comparisons", any(499, price)],
  ["comparisons that ignore case", any(124, taker)],
  ["lists of two", any(249, { taker: { in: ["0x", "0y"] } })],
  ["long lists", any(124, { taker: { notIn: many(7) } })],
  ["lists that ignore case", any(124, { taker: { inInsensitive: ["0x", "0y"] } })],
  [
    "of what an index serves, any number",
    { and: Array.from({ length: 400 }, () => ({ id: { lessThan: "9" } })) },
  ],
])("accepts so many %s", async (_what, filter) => {
  expect((await ask(app, QUERY, { filter })).errors).toBeUndefined();
});

it.each([
  ["330 comparisons that ignore case", any(330, taker)],
  ["250 lists of two", any(250, { taker: { in: ["0x", "0y"] } })],
  ["130 long lists", any(130, { taker: { notIn: many(7) } })],
  ["130 in groups within groups", { not: { and: [any(65, taker), { not: any(65, taker) }] } }],
  ["both kinds together", { ...any(480, price), and: [any(10, taker)] }],
])("refuses %s and says how to ask", async (_what, filter) => {
  const { errors } = await ask(app, QUERY, { filter });
  expect(errors).toEqual([expect.objectContaining({ extensions: { code: "TOO_EXPENSIVE" } })]);
  expect(errors?.[0]?.message).toMatch(
    /Where no index serves a condition or filter, each 20 comparisons in it count as 2000, and one that ignores case, or with a list of 4 values or more, as 4 comparisons: give values of one column as a list of "in" or "inInsensitive"\.$/,
  );
  expect(statements).toEqual([]);
});

it("counts those of all lists of an operation", async () => {
  const lists = Array.from(
    { length: 10 },
    (_, n) => `f${n}: allDexTrades(first: 1, filter: $filter) { nodes { id } }`,
  );
  const query = `query ($filter: DexTradeFilter!) { ${lists.join(" ")} }`;
  expect((await ask(app, query, { filter: any(9, taker) })).errors).toBeUndefined();
  const { errors } = await ask(app, query, { filter: any(10, taker) });
  expect(errors?.[0]?.extensions?.["code"]).toBe("TOO_EXPENSIVE");
});
