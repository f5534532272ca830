// Long lists of `in` and `notIn`: PostgreSQL makes a set of each once for a statement, and the answers stay those of its comparison.
import { anAddress, aTrade, registerMarkets, write } from "../../factories.ts";
import { explainPrepared, type Statement } from "../../explain.ts";
import { dataOf } from "../../graphql.ts";
import { serveRecorded } from "../../served.ts";

const { app, database, statements } = serveRecorded(
  async (writer) => {
    await registerMarkets(writer);
    await write(writer, {
      trades: [
        aTrade({ hour: 1, block: 1, taker: anAddress("taker 1") }),
        // Of no market, whose `market` is null.
        aTrade({ hour: 2, block: 2, baseGem: anAddress("unknown") }),
      ],
    });
  },
  { cache: "off" },
);

const QUERY = `query ($filter: DexTradeFilter!) {
  allDexTrades(first: 1000, orderBy: ID_ASC, filter: $filter) { nodes { block } }
}`;

const blocks = async (filter: object): Promise<unknown[]> => {
  const { allDexTrades } = await dataOf(app, QUERY, { filter });
  return allDexTrades.nodes.map(({ block }) => block);
};

const OTHERS = Array.from({ length: 30 }, (_, n) => anAddress(`nobody ${n}`));
const TAKERS = [...OTHERS, anAddress("taker 1")];
const MARKETS = [...OTHERS, "WETHDAI"];
const BLOCKS = [7, 8, 9, 10, 11, 1];

it.each([
  ["alone", { taker: { in: TAKERS } }, [1]],
  ["of what may be null", { market: { in: MARKETS } }, [1]],
  ["of none", { taker: { in: OTHERS } }, []],
  ["of numbers", { idx: { in: BLOCKS.map((block) => block - 1) }, block: { equalTo: 2 } }, [2]],
  ["beside another condition", { taker: { in: TAKERS }, id: { greaterThan: "0" } }, [1]],
  ["in an or", { or: [{ market: { in: MARKETS } }, { block: { equalTo: 7 } }] }, [1]],
  ["in a not", { not: { taker: { in: TAKERS } } }, [2]],
  ["in a not, of what may be null", { not: { market: { in: OTHERS } } }, [1]],
  ["that are excluded", { taker: { notIn: TAKERS } }, [2]],
  ["that are excluded, of what may be null", { market: { notIn: OTHERS } }, [1]],
  ["that are excluded in a not, of what may be null", { not: { market: { notIn: OTHERS } } }, []],
  ["that are excluded, of numbers", { block: { notIn: BLOCKS } }, [2]],
])("looks each row up in a set, %s", async (_where, filter, found) => {
  expect(await blocks(filter)).toEqual(found);
  const asked = statements.findLast(({ text }) => text.includes("unnest("));
  const plan = await explainPrepared<string>(
    database.reader,
    asked as Statement,
    "verbose, costs off",
  );
  expect(plan.join("\n")).toMatch(/hashed SubPlan/);
});

it.each([
  ["excludes what has no value", { market: { notIn: [] } }, [1]],
  ["also in a not", { not: { market: { notIn: [] } } }, []],
  ["and nothing where there always is one", { taker: { notIn: [] } }, [1, 2]],
])("an empty list of notIn %s", async (_where, filter, found) => {
  expect(await blocks(filter)).toEqual(found);
});

it("compares a short list value by value", async () => {
  expect(await blocks({ taker: { in: [anAddress("taker 1"), "0x"] } })).toEqual([1]);
  expect(statements.some(({ text }) => text.includes("unnest("))).toBe(false);
});

it("finds rows by the index of a list's column", async () => {
  const query = `query ($filter: DexTradeFilter!) { allDexTrades(first: 3, filter: $filter) { nodes { id } } }`;
  await dataOf(app, query, { filter: { tx: { in: TAKERS } } });
  const asked = statements.findLast(({ text }) => text.includes("unnest(")) as Statement;
  const client = await database.reader.connect();
  await client.query("set enable_seqscan = off").finally(() => client.release());
  const plan = await explainPrepared<string>(database.reader, asked, "costs off");
  expect(plan.join("\n")).toMatch(/Index Cond: \(tx = ANY/);
});
