// What grafast and @dataplan/pg do not publish is there, in stock PostGraphile: a new version of either that
// no longer has it fails here first, by name.
import { makeSchema } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import {
  Step,
  constant,
  grafast,
  lambda,
  list,
  type ExecutionDetails,
  type FieldPlanResolver,
} from "postgraphile/grafast";
import { TYPES } from "postgraphile/@dataplan/pg";
import { makeV4Preset } from "postgraphile/presets/v4";
import { sql } from "postgraphile/pg-sql2";
import {
  aggregateOf,
  asConnection,
  applyTo,
  connectionOfPageInfo,
  fieldOfPageInfo,
  forgetPlans,
  fromContext,
  literalOf,
  selectOf,
  selectValue,
  unpagedRowsOf,
} from "../../../server/graphql/grafast-internals.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
  await registerMarkets(database.writer);
  await write(database.writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2 })] });
});
afterAll(() => database.drop());

/** The answer to a query where one field of one type is planned otherwise. */
async function askWith(
  query: string,
  [typeName, name]: [typeName: string, fieldName: string],
  planOf: (stock: FieldPlanResolver | undefined) => FieldPlanResolver,
): Promise<unknown> {
  const ProbePlugin: GraphileConfig.Plugin = {
    name: "ProbePlugin",
    schema: {
      hooks: {
        GraphQLObjectType_fields_field(field, _build, { scope, Self }) {
          if (Self.name !== typeName || scope.fieldName !== name) return field;
          return { ...field, plan: planOf(field.plan) };
        },
      },
    },
  };
  const { schema, resolvedPreset } = await makeSchema({
    extends: [makeV4Preset({ simpleCollections: "omit" })],
    plugins: [ProbePlugin],
    pgServices: [makePgService({ pool: database.reader, schemas: ["public"] })],
    disablePlugins: ["MutationPlugin"],
  });
  const result = await grafast({ schema, source: query, resolvedPreset, requestContext: {} });
  expect(result).not.toHaveProperty("errors");
  return (result as { data: unknown }).data;
}

/** Reads one value more of each row, found out when the plan is optimized. */
class ValuesStep extends Step<string> {
  static override $$export = { moduleName: "test", exportName: "ValuesStep" };
  #position = -1;

  constructor($rows: Step, $select: Step) {
    super();
    this.addDependency($rows);
    this.addDependency($select);
  }

  override optimize(): this {
    const { step } = this.getDepOptions(1);
    this.#position = selectValue(step, (alias) => sql`(${alias}.block + 1)::text`);
    return this;
  }

  override execute({ indexMap, values }: ExecutionDetails): readonly string[] {
    return indexMap((n) =>
      (values[0]!.at(n) as string[][]).map((row) => row[this.#position]).join(" "),
    );
  }
}

const TOTAL_COUNT: [string, string] = ["DexTradesConnection", "totalCount"];

it("selectOf and selectValue: a step selects a value more of a connection's rows", async () => {
  const { rows } = await database.owner.query<{ text: string }>(
    "select string_agg((block + 1)::text, ' ' order by id) as text from dex_trade",
  );
  let read = "";
  await askWith("{ allDexTrades { totalCount } }", TOTAL_COUNT, () => ($parent) => {
    const $connection = asConnection($parent);
    const $values = new ValuesStep($connection.nodes() as Step, selectOf($connection));
    return lambda($values, (text) => (read = text).length);
  });
  expect(read).toBe(rows[0]!.text);
});

it("aggregateOf: the rows of all pages are aggregated", async () => {
  const data = await askWith(
    "{ allDexTrades(first: 1) { totalCount } }",
    TOTAL_COUNT,
    () => ($parent) =>
      aggregateOf(asConnection($parent))
        .singleAsRecord()
        .select(sql`count(*) + 40`, TYPES.int, true),
  );
  expect(data).toEqual({ allDexTrades: { totalCount: 42 } });
});

it("unpagedRowsOf: the rows of a connection are read by a step of their own", async () => {
  let read = 0;
  await askWith(
    "{ allDexTrades { totalCount } }",
    TOTAL_COUNT,
    () => ($parent) =>
      lambda(
        unpagedRowsOf(asConnection($parent)).items() as Step<readonly unknown[]>,
        (rows) => (read = rows.length),
      ),
  );
  expect(read).toBe(2);
});

it("connectionOfPageInfo and fieldOfPageInfo: a PageInfo has its connection, and its fields", async () => {
  const data = await askWith(
    "{ allDexTrades(first: 1) { nodes { id } pageInfo { hasNextPage } } }",
    ["PageInfo", "hasNextPage"],
    () => ($pageInfo) =>
      lambda(
        list([
          fieldOfPageInfo($pageInfo, "hasNextPage"),
          connectionOfPageInfo($pageInfo).getFirst() ?? constant(null),
        ]),
        ([hasNext, first]) => hasNext === true && first === 1,
      ),
  );
  expect(data).toMatchObject({ allDexTrades: { pageInfo: { hasNextPage: true } } });
});

it("literalOf: an argument that is a literal is known while planning", async () => {
  let literal: unknown;
  await askWith(
    "{ allDexTrades(first: 1) { totalCount } }",
    ["Query", "allDexTrades"],
    (stock) => ($parent, fieldArgs, info) => {
      literal = literalOf(fieldArgs.getRaw("first"));
      return stock!($parent, fieldArgs, info);
    },
  );
  expect(literal).toBe(1);
});

it("fromContext: a step reads a value of the operation's context", async () => {
  let read: unknown;
  await askWith(
    "{ allDexTrades { totalCount } }",
    TOTAL_COUNT,
    () => () =>
      lambda(fromContext("withPgClient"), (value) => {
        read = value;
        return 1;
      }),
  );
  expect(read).toBeInstanceOf(Function);
});

it("applyTo: an argument's values are applied to what stands in for the rows", () => {
  const targets: unknown[] = [];
  const target = {};
  applyTo({ apply: ($target) => void targets.push($target) }, target);
  expect(targets).toEqual([target]);
});

it("forgetPlans: grafast has no plan left, and plans anew", async () => {
  const { schema, resolvedPreset } = await makeSchema({
    extends: [makeV4Preset({ simpleCollections: "omit" })],
    pgServices: [makePgService({ pool: database.reader, schemas: ["public"] })],
    disablePlugins: ["MutationPlugin"],
  });
  const ask = (): Promise<unknown> =>
    Promise.resolve(
      grafast({
        schema,
        source: "{ allDexTrades { totalCount } }",
        resolvedPreset,
        requestContext: {},
      }),
    );
  const cached = (): number => Object.getOwnPropertySymbols(schema.extensions.grafast ?? {}).length;
  const first = await ask();
  expect(cached()).toBeGreaterThan(0);
  forgetPlans(schema);
  expect(cached()).toBe(0);
  expect(await ask()).toEqual(first);
});
