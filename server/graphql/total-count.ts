// Counts a table tagged @appendOnly without reading it whole: what was counted is kept, and the next
// totalCount of the same rows counts only what is newer. It stays exact.
//
// One statement counts the rows above the id that the kept count goes up to, and reads the newest id
// and the epoch as of its own snapshot. The kept count holds there when the epoch is its own and no
// id that it counted is missing; the snapshot may be older than the kept count. Otherwise a second
// statement counts everything.
import {
  TYPES,
  type PgResource,
  type PgSelectQueryBuilder,
  type PgSelectStep,
} from "postgraphile/@dataplan/pg";
import {
  inhibitOnNull,
  lambda,
  list,
  object,
  trap,
  TRAP_INHIBITED,
  type ConnectionStep,
  type FieldArgs,
  type FieldInfo,
  type FieldPlanResolver,
  type Step,
} from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import type { AppendOnly } from "./append-only.ts";
import { KeptCounts, keyOf, type KeptCount } from "./kept-counts.ts";

type AnyConnection = ConnectionStep<unknown, never, never, never>;

/** What a connection's totalCount needs: the table, and the key of the rows that it counts. */
interface Counted {
  $connection: AnyConnection;
  resource: PgResource;
  appendOnly: AppendOnly;
  $key: Step<string>;
}

/** What a statement saw: its count, the newest id of the table, and the epoch. */
type Seen = readonly [count: string, newest: string | null, epoch: string | null];

/** Every other argument is taken to say which rows there are. */
const PAGING = new Set(["first", "last", "offset", "before", "after", "orderBy"]);

function rowArguments(fieldArgs: FieldArgs, info: FieldInfo): Step<Record<string, unknown>> {
  const names = info.field.args.map(({ name }) => name).filter((name) => !PAGING.has(name));
  return object(Object.fromEntries(names.map((name) => [name, fieldArgs.getRaw(name)])));
}

/** Whether the count goes on to hold in the snapshot of a statement that saw this. */
const holds = (kept: KeptCount, [, newest, epoch]: Seen): boolean =>
  epoch === kept.epoch && newest !== null && BigInt(newest) >= kept.upTo;

/** The rows of a connection, to be counted and not to be paged. */
function rowsToCount({ $connection }: Counted): PgSelectStep {
  const clone = $connection.cloneSubplanWithoutPagination.bind($connection) as (
    mode: "aggregate",
  ) => unknown;
  return clone("aggregate") as PgSelectStep;
}

function seenBy($rows: PgSelectStep, { resource, appendOnly }: Counted): Step<Seen> {
  const { idColumn, epochTable } = appendOnly;
  const $row = $rows.singleAsRecord();
  const newest = sql`(select max(${sql.identifier(idColumn)}) from ${resource.from as SQL})`;
  return list([
    $row.select(sql`count(*)`, TYPES.bigint, true),
    $row.select(newest, TYPES.bigint, false),
    $row.select(sql`(select epoch from ${epochTable})`, TYPES.bigint, false),
  ]) as Step<Seen>;
}

/** Makes the plugin, with no count kept yet: what it keeps is of one database. */
export function makeTotalCountPlugin(): GraphileConfig.Plugin {
  const counts = new KeptCounts();
  const countedBy = new WeakMap<Step, Counted>();
  const recall = (key: string): KeptCount | undefined => counts.recall(key);

  const add = ([key, kept, newer, all]: readonly [
    string,
    KeptCount | undefined,
    Seen,
    Seen | null,
  ]): number => {
    const [count, newest, epoch] = all ?? newer;
    const base = all === null ? (kept?.count ?? 0) : 0;
    const total = base + Number(count);
    if (newest !== null && epoch !== null) {
      counts.keep(key, { count: total, upTo: BigInt(newest), epoch });
    }
    return total;
  };

  const totalCount = (counted: Counted): Step<number> => {
    const id = sql.identifier(counted.appendOnly.idColumn);
    const $kept = lambda(counted.$key, recall);

    const $newerRows = rowsToCount(counted);
    $newerRows.apply(
      lambda($kept, (kept) => (builder: PgSelectQueryBuilder) => {
        if (kept === undefined) return;
        builder.where(sql`${builder.alias}.${id} > ${sql.value(String(kept.upTo))}::bigint`);
      }),
    );
    const $newer = seenBy($newerRows, counted);

    // Null, on which the second statement is not sent, or else a change of it that changes nothing.
    const $isVoid = lambda(list([$kept, $newer]), ([kept, newer]) =>
      kept === undefined || holds(kept, newer) ? null : () => undefined,
    );
    const $allRows = rowsToCount(counted);
    $allRows.apply(inhibitOnNull($isVoid));
    const $all = trap(seenBy($allRows, counted), TRAP_INHIBITED, { valueForInhibited: "NULL" });

    return lambda(list([counted.$key, $kept, $newer, $all]), add as never);
  };

  return {
    name: "TotalCountPlugin",
    version: "1.0.0",
    description: "Counts a table tagged @appendOnly by adding what is newer to what was counted.",

    schema: {
      hooks: {
        GraphQLObjectType_fields_field(field, _build, { scope }) {
          const { plan } = field;
          if (plan === undefined) return field;

          if (scope.isPgFieldConnection === true && scope.isRootQuery === true) {
            const resource = scope.pgFieldResource as PgResource | undefined;
            const appendOnly = resource?.extensions?.appendOnly;
            // A function's rows need not be its table's.
            if (resource === undefined || appendOnly === undefined || resource.parameters) {
              return field;
            }
            const rootPlan: FieldPlanResolver = ($parent, fieldArgs, info) => {
              const $connection = plan($parent, fieldArgs, info) as AnyConnection;
              const $key = lambda(rowArguments(fieldArgs, info), (args) =>
                keyOf(resource.name, args),
              );
              countedBy.set($connection, { $connection, resource, appendOnly, $key });
              return $connection;
            };
            return { ...field, plan: rootPlan };
          }

          if (scope.isPgConnectionTotalCountField === true) {
            const countPlan: FieldPlanResolver = ($connection, fieldArgs, info) => {
              const counted = countedBy.get($connection);
              return counted === undefined
                ? (plan($connection, fieldArgs, info) as Step)
                : totalCount(counted);
            };
            return { ...field, plan: countPlan };
          }
          return field;
        },
      },
    },
  };
}
