// Lists that ignore case: PostgreSQL makes a set of the list once for a statement, and the answers are those of its lower().
import { anAddress, aTrade, registerMarkets, write } from "../../factories.ts";
import { dataOf } from "../../graphql.ts";
import { explainPrepared, type Statement } from "../../explain.ts";
import { serveDatabase } from "../../served.ts";

const sent: Statement[] = [];

const { app, database } = serveDatabase(
  async (writer, reader) => {
    await registerMarkets(writer);
    await write(writer, {
      trades: [
        aTrade({ hour: 1, block: 1, taker: anAddress("taker 1") }),
        // Of no market, whose `market` is null.
        aTrade({ hour: 2, block: 2, baseGem: anAddress("unknown") }),
      ],
    });
    reader.on("connect", (client) => {
      const query = client.query.bind(client) as (...given: unknown[]) => unknown;
      const recording = (...given: unknown[]): unknown => {
        sent.push(given[0] as Statement);
        return query(...given);
      };
      client.query = recording as typeof client.query;
    });
  },
  { cache: "off" },
);

const QUERY = `query ($filter: DexTradeFilter!) {
  allDexTrades(first: 1000, filter: $filter) { nodes { block } }
}`;

const blocks = async (filter: object): Promise<unknown[]> => {
  const { allDexTrades } = await dataOf(app, QUERY, { filter });
  return allDexTrades.nodes.map(({ block }) => block);
};

const WETHDAI = { market: { inInsensitive: ["x", "wethDAI", "WETHdai"] } };

it.each([
  ["alone", WETHDAI],
  ["beside another condition", { ...WETHDAI, id: { greaterThan: "0" } }],
  ["in an or", { or: [WETHDAI, { block: { equalTo: 7 } }] }],
  ["in a not", { not: { not: WETHDAI } }],
])("looks each row up in a set, %s", async (_where, filter) => {
  sent.length = 0;
  expect(await blocks(filter)).toEqual([1]);
  const asked = sent.findLast(({ text = "" }: Partial<Statement>) => text.includes("lower("))!;
  const plan = await explainPrepared<string>(database.reader, asked, "verbose, costs off");
  expect(plan.join("\n")).toMatch(/hashed SubPlan/);
  expect(plan.join("\n")).not.toMatch(/Join|Nested Loop/);
});

it.each([
  ["an empty list", { market: { inInsensitive: [] } }, []],
  ["not an empty list", { not: { market: { inInsensitive: [] } } }, [1, 2]],
  ["none of these, without a null", { not: { market: { inInsensitive: ["x"] } } }, [1]],
  ["an empty text", { market: { inInsensitive: [""] } }, []],
  ["quotes, braces and commas", { market: { inInsensitive: ['{",\\', "WETHDAI"] } }, [1]],
  ["what PostgreSQL lowers to other letters", { market: { inInsensitive: ["ΣΑΣ", "İ"] } }, []],
])("answers %s as a comparison with each value does", async (_what, filter, found) => {
  expect(await blocks(filter)).toEqual(found);
});

it("ignores the case of letters beyond ASCII as PostgreSQL does", async () => {
  const owner = await database.connect("dex_owner");
  const names = ["ÄÖÜ", "äöü", "ΣΑΣ", "σας", "σασ", "İ", "i̇", "ß", "ẞ", "ǅ"];
  const query = `query ($name: String!, $names: [String!]!) {
    one: allDexTokens(filter: { name: { equalToInsensitive: $name } }) { nodes { name } }
    several: allDexTokens(filter: { name: { inInsensitive: $names } }) { nodes { name } }
  }`;
  for (const name of names) {
    await owner.query("update dex_token set name = $1 where symbol = 'WETH'", [name]);
    for (const other of names) {
      const { one, several } = await dataOf<Record<string, unknown>>(app, query, {
        name: other,
        names: ["x", other],
      });
      expect(several).toEqual(one);
    }
  }
});
