// The public schema. Its SDL is tracked, so that a review shows every change of the contract;
// `npm run generate -- schema` writes it.
import { readFile, writeFile } from "node:fs/promises";
import {
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  type GraphQLSchema,
} from "graphql";
import { makeSchema } from "postgraphile";
import { presetOf, printSdl, TRACKED_SDL } from "../../../graphql/schema/sdl.ts";
import { openClient, openPool } from "../../database.ts";
import { useDatabase } from "../../served.ts";

const database = useDatabase();
let preset: GraphileConfig.Preset;
let schema: GraphQLSchema;
beforeAll(async () => {
  preset = presetOf(database.reader);
  ({ schema } = await makeSchema(preset));
});

const fieldsOf = (name: string): string[] => {
  const type = schema.getType(name);
  if (!isObjectType(type) && !isInputObjectType(type)) throw new Error(`${name} has no fields`);
  return Object.keys(type.getFields());
};

const valuesOf = (name: string): string[] => {
  const type = schema.getType(name);
  if (!isEnumType(type)) throw new Error(`${name} is not an enum`);
  return type.getValues().map((value) => value.name);
};

const typeOf = (type: string, field: string): string => {
  const object = schema.getType(type);
  if (!isObjectType(object)) throw new Error(`${type} is not an object type`);
  return String(object.getFields()[field]!.type);
};

it("is the schema that is tracked", async () => {
  const printed = printSdl(schema);
  if (process.env["WRITE_SCHEMA"] !== undefined) await writeFile(TRACKED_SDL, printed);
  expect(printed).toBe(await readFile(TRACKED_SDL, "utf8"));
});

it("is that schema where the database has all identifiers quoted", async () => {
  await using superuser = await openClient(database.url);
  const name = new URL(database.url).pathname.slice(1);
  await superuser.query(`alter database ${name} set quote_all_identifiers = on`);
  try {
    await using reader = openPool(database.url, { role: "dex_reader" });
    const { schema: made } = await makeSchema(presetOf(reader));
    expect(printSdl(made)).toBe(await readFile(TRACKED_SDL, "utf8"));
  } finally {
    await superuser.query(`alter database ${name} reset quote_all_identifiers`);
  }
});

const TRADE_FIELDS = [
  ...["id", "offerId", "market", "act", "pair", "maker", "taker", "lotGem", "lotTkn", "lotAmt"],
  ...["bidGem", "bidTkn", "bidAmt", "price", "block", "time", "tx", "idx", "venue"],
];

it("has the interface's trade, with its offer", () => {
  expect(fieldsOf("DexTrade").sort()).toEqual(
    [...TRADE_FIELDS, "nodeId", "offer", "price50"].sort(),
  );
  expect(typeOf("DexTrade", "offerId")).toBe("Int");
  expect(typeOf("DexTrade", "lotAmt")).toBe("BigFloat!");
  expect(typeOf("DexTrade", "time")).toBe("Datetime!");
  expect(typeOf("DexTrade", "offer")).toBe("DexOffer");
  expect(typeOf("DexTrade", "id")).toBe("BigInt!");
});

it("has the decided offer, pair, market, price and volume", () => {
  expect(fieldsOf("DexOffer").sort()).toEqual(
    [
      ...["id", "block", "killed", "market", "act", "pair", "maker", "lotGem", "lotTkn", "lotAmt"],
      ...[
        "bidGem",
        "bidTkn",
        "bidAmt",
        "price",
        "time",
        "tx",
        "venue",
        "ref",
        "filled",
        "trades",
        "nodeId",
      ],
    ].sort(),
  );
  expect(fieldsOf("DexMarket")).toEqual(
    expect.arrayContaining([
      ...["pair", "base", "quote", "price", "last", "vol", "ask", "bid", "low", "high", "active"],
    ]),
  );
  expect(fieldsOf("DexPrice")).toEqual(
    expect.arrayContaining([
      ...["pair", "base", "quote", "vwap24h", "vwap12h", "vwap6h", "vwap1h", "last"],
    ]),
  );
  expect(fieldsOf("DexVolume")).toEqual(expect.arrayContaining(["pair", "base", "quote", "vol"]));
  expect(fieldsOf("DexPair")).toEqual(
    expect.arrayContaining([
      ...["base", "quote", "basePrecision", "quotePrecision", "active", "baseToken", "quoteToken"],
    ]),
  );
  expect(fieldsOf("DexHead")).toEqual(["block", "time", "digest"]);
  expect(fieldsOf("DexBlock")).toEqual(["digest", "number", "hash", "parent", "time"]);
});

it("filters trades and offers by every column and nothing else", () => {
  const logical = ["and", "or", "not"];
  expect(fieldsOf("DexTradeCondition").sort()).toEqual([...TRADE_FIELDS].sort());
  expect(fieldsOf("DexTradeFilter").sort()).toEqual([...TRADE_FIELDS, ...logical].sort());
  const offerColumns = fieldsOf("DexOffer").filter((name) => !["nodeId", "trades"].includes(name));
  expect(fieldsOf("DexOfferCondition").sort()).toEqual([...offerColumns].sort());
  expect(fieldsOf("DexOfferFilter").sort()).toEqual([...offerColumns, ...logical].sort());
});

it("allows the decided operators and no pattern matching", () => {
  const everywhere = [
    ...["equalTo", "notEqualTo", "in", "notIn", "lessThan", "lessThanOrEqualTo"],
    ...["greaterThan", "greaterThanOrEqualTo", "isNull"],
  ];
  for (const name of ["Int", "BigInt", "BigFloat", "Datetime", "Boolean"]) {
    expect(fieldsOf(`${name}Filter`).sort()).toEqual([...everywhere].sort());
  }
  expect(fieldsOf("StringFilter").sort()).toEqual(
    [...everywhere, "equalToInsensitive", "inInsensitive"].sort(),
  );
});

it("orders trades only by columns of a served order", () => {
  const columns = new Set(
    valuesOf("DexTradesOrderBy").map((name) => name.replace(/_(A|DE)SC$/, "")),
  );
  expect([...columns].sort()).toEqual(
    [
      ...["NATURAL", "PRIMARY_KEY", "ID", "BLOCK", "IDX", "TIME", "OFFER_ID", "MARKET"],
      ...["MAKER", "TAKER", "VENUE"],
    ].sort(),
  );
});

it("finds single records", () => {
  expect(fieldsOf("Query")).toEqual(
    expect.arrayContaining([
      ...["dexTrade", "dexTradeByTxAndIdx", "dexOffer", "dexMarket", "dexPair", "dexHead"],
    ]),
  );
});

it("has no mutation", () => {
  expect(schema.getMutationType()).toBeUndefined();
});

it("has the decided subscriptions", () => {
  expect(fieldsOf("Subscription").sort()).toEqual([
    ...["dexBook", "dexCandles", "dexHead", "dexMarkets", "dexSummaries", "dexTrades"],
  ]);
});

it("does not show the private schema", () => {
  const names = Object.keys(schema.getTypeMap()).join(" ");
  expect(names).not.toMatch(/private|taken|figure|migration|asOf|relabel/i);
  expect(fieldsOf("DexTrade").concat(fieldsOf("DexPair"))).not.toContain("marketId");
});

/** Every description of a schema, by the name of its type, field, argument or value. */
function descriptionsOf(described: GraphQLSchema): Map<string, string | null> {
  const all = new Map<string, string | null>();
  const note = (name: string, { description }: { description?: string | null | undefined }): void =>
    void all.set(name, description?.replace(/\s+/g, " ") ?? null);
  for (const type of Object.values(described.getTypeMap())) {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) continue;
    note(type.name, type);
    if (isEnumType(type)) {
      for (const value of type.getValues()) note(`${type.name}.${value.name}`, value);
    }
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      note(`${type.name}.${field.name}`, field);
      if (!("args" in field)) continue;
      for (const argument of field.args) {
        note(`${type.name}.${field.name}(${argument.name})`, argument);
      }
    }
  }
  return all;
}

it("describes every type, field, argument and value itself or by a SQL comment", async () => {
  const stock = await makeSchema({
    extends: [preset],
    disablePlugins: ["DescriptionsPlugin", "SubscriptionFieldsPlugin"],
  });
  const generated = descriptionsOf(stock.schema);
  const { rows } = await database.owner.query<{ comments: string }>(
    "select string_agg(description, E'\\n') as comments from pg_description where objsubid >= 0",
  );
  const comments = rows[0]!.comments.replace(/\s+/g, " ");

  const undescribed = [...descriptionsOf(schema)].filter(
    ([name, description]) =>
      description === null ||
      (description === generated.get(name) && !comments.includes(description)),
  );

  // The tags @forwardDescription and @backwardDescription describe a relation.
  expect(undescribed).toEqual([]);
});
