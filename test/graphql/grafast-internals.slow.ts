// What grafast and @dataplan/pg do not publish is there, in stock PostGraphile: a new version of either that
// no longer has it fails here first, by name.
import fc from "fast-check";
import { parse, type OperationDefinitionNode } from "graphql";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeSchema } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import {
  Step,
  constant,
  execute,
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
  forgetPlans,
  fromContext,
  plannedOperation,
  propertyOf,
} from "../../graphql/grafast-internals.ts";
import {
  aggregateOf,
  isInContext,
  selectValue,
} from "../../packages/append-only-totals/internals.ts";
import {
  applyTo,
  connectionOfPageInfo,
  fieldOfPageInfo,
  selectOf,
  unpagedRowsOf,
  type AnyConnection,
} from "../../packages/indexed-orders/internals.ts";
import { makePool } from "../../db/connect.ts";
import { GRAPHQL_LIMITS } from "../../graphql/limits/limits.ts";
import { makePreset } from "../../graphql/preset.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { bodyWithVariables, document, plainDocument } from "../fuzz/documents.ts";
import { useDatabase } from "../served.ts";
import { recordStatements } from "../statements.ts";

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade({ hour: 1 }), aTrade({ hour: 2 })] });
});

/** The answer to a query where one field of one type is planned otherwise. */
async function askWith(
  query: string,
  [typeName, name]: [typeName: string, fieldName: string],
  planOf: (stock: FieldPlanResolver | undefined) => FieldPlanResolver,
  contexts: { isOnePage?: boolean }[] = [{}],
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
  let data: unknown;
  for (const contextValue of contexts) {
    const result = await grafast({
      ...{ schema, source: query, resolvedPreset, requestContext: {} },
      contextValue,
    });
    expect(result).not.toHaveProperty("errors");
    ({ data } = result as { data: unknown });
  }
  return data;
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

const asConnection = ($step: Step): AnyConnection => $step as unknown as AnyConnection;

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

it("plannedOperation and propertyOf: a plan knows its operation, and reads a cursor as the default plan does", async () => {
  let planned: string | undefined;
  const cursors = "{ allDexTrades { edges { cursor } } }";
  const plan: FieldPlanResolver = ($edge) => {
    planned = plannedOperation()?.name?.value;
    return propertyOf($edge, "cursor");
  };
  const stock = await askWith(cursors, ["DexTradesEdge", "node"], (node) => node!);
  expect(await askWith(`query named ${cursors}`, ["DexTradesEdge", "cursor"], () => plan)).toEqual(
    stock,
  );
  expect([planned, plannedOperation()]).toEqual(["named", undefined]);
});

it("unpagedRowsOf: the rows of a connection are read by a separate step", async () => {
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

it("isInContext: a plan is of one value of the operation's context", async () => {
  const planned: boolean[] = [];
  const data = await askWith(
    "{ allDexTrades { totalCount } }",
    TOTAL_COUNT,
    () => () => {
      planned.push(isInContext("isOnePage", true));
      return constant(planned.length);
    },
    [{ isOnePage: true }, {}, { isOnePage: true }, { isOnePage: false }, { isOnePage: true }],
  );
  expect(planned).toEqual([true, false]);
  expect(data).toEqual({ allDexTrades: { totalCount: 1 } });
});

it("applyTo: an argument's values are applied to what stands in for the rows", () => {
  const targets: unknown[] = [];
  const target = {};
  applyTo({ apply: ($target) => void targets.push($target) }, target);
  expect(targets).toEqual([target]);
});

it("forgetPlans: grafast has no plan left but those of some operations, and plans anew", async () => {
  const { schema, resolvedPreset } = await makeSchema({
    extends: [makeV4Preset({ simpleCollections: "omit" })],
    pgServices: [makePgService({ pool: database.reader, schemas: ["public"] })],
    disablePlugins: ["MutationPlugin"],
  });
  const document = parse(
    "query a { allDexTrades { totalCount } } query b { allDexTrades { totalCount } }",
  );
  const [a, b] = document.definitions as [OperationDefinitionNode, OperationDefinitionNode];
  const ask = (operationName: string): Promise<unknown> =>
    Promise.resolve(
      execute({ schema, document, operationName, resolvedPreset, requestContext: {} }),
    );
  const planOf = (operation: OperationDefinitionNode): unknown => {
    const { grafast = {} } = schema.extensions;
    const caches = Object.getOwnPropertySymbols(grafast).map(
      (symbol) => Reflect.get(grafast, symbol) as Map<OperationDefinitionNode, unknown>,
    );
    return caches.map((cache) => cache.get(operation)).find((plan) => plan !== undefined);
  };
  forgetPlans(schema, [a]);
  const first = [await ask("a"), await ask("b")];
  const plans = [planOf(a), planOf(b)];
  expect(plans).toEqual([expect.anything(), expect.anything()]);
  forgetPlans(schema, [b]);
  expect([planOf(a), planOf(b)]).toEqual([undefined, plans[1]]);
  expect(planOf(b)).toBe(plans[1]);
  expect([await ask("a"), await ask("b")]).toEqual(first);
  expect([planOf(a), planOf(b)]).toEqual([expect.anything(), plans[1]]);
  forgetPlans(schema);
  expect([planOf(a), planOf(b)]).toEqual([undefined, undefined]);
  expect([await ask("a"), await ask("b")]).toEqual(first);
});

interface Body {
  query: string;
  variables?: Record<string, unknown>;
}

it("compiled lists: answers and statements of random documents are those of grafast alone", async () => {
  await using stack = new AsyncDisposableStack();
  const pool = makePool(database.url, { role: "dex_reader" });
  stack.defer(() => pool.end());
  const statements = recordStatements(pool);
  const makeAsk = async (disablePlugins: string[]) => {
    const preset = makePreset({ pool, log: () => undefined, limits: GRAPHQL_LIMITS });
    const { schema, resolvedPreset } = await makeSchema({ extends: [preset], disablePlugins });
    return async (body: string): Promise<[string, string[]]> => {
      const { query: source, variables: variableValues } = JSON.parse(body) as Body;
      const request = { source, variableValues: variableValues ?? null };
      statements.length = 0;
      const result = await grafast({ schema, ...request, resolvedPreset, requestContext: {} });
      const reads = statements.filter(({ text }) => /^select\s/.test(text));
      return [
        JSON.stringify(result),
        reads.map(({ text, values }) => JSON.stringify([text, values])).toSorted(),
      ];
    };
  };
  const compiled = await makeAsk([]);
  const alone = await makeAsk(["CompiledListsPlugin"]);
  const literal = fc.oneof(document, plainDocument).map((query) => JSON.stringify({ query }));
  for (const bodies of [literal, bodyWithVariables]) {
    let withRows = 0;
    for (const body of fc.sample(bodies, { seed: 1, numRuns: 120 })) {
      const expected = await alone(body);
      if (expected[0].includes("[{") && !expected[0].startsWith('{"errors"')) withRows += 1;
      expect([body, ...(await compiled(body))]).toEqual([body, ...expected]);
    }
    expect(withRows).toBeGreaterThan(5);
  }
});

/** An operation takes some 100 kB until it is over. */
const MAX_KEPT_BYTES = 1500;

it("freed operations: almost nothing of an operation is kept until a full garbage collection", async () => {
  // In a process, since what other tests have left would keep more.
  const program = fileURLToPath(new URL("kept-of-operations.ts", import.meta.url));
  const env = { ...process.env, DATABASE_URL: database.url };
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  expect(Number(stdout)).toBeLessThan(MAX_KEPT_BYTES);
});
