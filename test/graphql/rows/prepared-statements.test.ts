// Statements of GraphQL are prepared on their connection, and the oldest of them released again.
import { dataOf } from "../../graphql.ts";
import { useApp, useDatabase } from "../../served.ts";

const database = useDatabase();
// One request after the other is answered on one connection.
const app = useApp(database, { cache: "off" });

const COLUMNS = "id act pair maker taker lotGem lotTkn lotAmt bidGem bidTkn bidAmt price".split(
  " ",
);

/** A list, whose statement is another for each number. */
const list = (n: number): string => {
  const columns = COLUMNS.filter((_, bit) => (n + 1) & (1 << bit));
  return `allDexTrades(first: 1) { nodes { ${columns.join(" ")} } }`;
};

const prepared = async (): Promise<number> => {
  const { rows } = await database.reader.query<{ count: number }>(
    "select count(*)::integer as count from pg_prepared_statements where not from_sql",
  );
  return rows[0]!.count;
};

it("a statement is sent twice in one operation that has others released", async () => {
  for (let n = 0; n < 100; n += 1) await dataOf(app, `{ ${list(n)} }`);
  const page = { nodes: [] };
  // The hundred and first statement is one too many, and the first of them the oldest.
  for (let n = 100; n < 120; n += 1) {
    const data = await dataOf(app, `{ new: ${list(n)} old: ${list(n - 100)} }`);
    expect(data).toEqual({ new: page, old: page });
  }
});

it("a connection keeps a hundred statements", async () => {
  for (let n = 0; n < 130; n += 1) await dataOf(app, `{ ${list(n)} }`);
  expect(await prepared()).toBe(100);
});
