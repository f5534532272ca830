// Makes totalCount of a table tagged @appendOnly exact without reading the whole table: it caches each
// count, and the next totalCount of the same rows counts only the newer rows.
//
// A count up to an id holds while the row with that id exists and the epoch is the same: see
// append-only.ts. One statement finds the newest checkpoint that holds in its own snapshot, and counts
// the rows after it.
//
// Beside a page, the total is of the table version that the page's statement read. On a cache hit of
// that version no statement is sent. Otherwise the statement counts up to the page's newest id; its
// snapshot may be newer than the page's, as long as that id and the epoch are still there.
import { listOfCodec, TYPES, type PgCodec, type PgResource } from "postgraphile/@dataplan/pg";
import {
  constant,
  inhibitOnNull,
  lambda,
  object,
  type FieldArgs,
  type FieldInfo,
  type FieldPlanResolver,
  type Step,
} from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { combined } from "./combined.ts";
import { aggregateOf, fromContext, isInContext, type AnyConnection } from "./internals.ts";
import type { AppendOnly } from "./append-only.ts";
import { CountCache, countKey, withCheckpoint, type CachedCount } from "./count-cache.ts";
import { columnNames, isOfColumns } from "./own-columns.ts";
import type { PageAttempt } from "./page-attempt.ts";
import { TableVersionStep, type TableVersion } from "./table-version.ts";
import { unorderedPair } from "./unordered-pair.ts";

/** A connection with a cached totalCount. */
interface CountedConnection {
  $connection: AnyConnection;
  resource: PgResource;
  appendOnly: AppendOnly;
  /** Null if the count is not kept. */
  $key: Step<string | null>;
  /** The set, if the database keeps its number of rows. */
  $kept: Step<KeptSet | null>;
}

/**
 * The rows with this value of the column that `countedBy` names; null for all rows. With two values in
 * either order, the column's value is the one that `countedBy.eitherWay` gives for them.
 */
interface KeptSet {
  value: string | null;
  pair?: [string, string];
}

interface Task {
  /** Null if the count is not kept: then it holds in its own snapshot alone. */
  key: string | null;
  cached: CachedCount | undefined;
  /** Null without a page, or if the page is empty. */
  page: TableVersion | null;
}

/** The result of the counting statement, all of one snapshot. */
interface Counted {
  count: number;
  /** The id of the checkpoint that it counted from, or MIN_ID. */
  above: bigint;
  /** The newest id that it counted up to, or MIN_ID. */
  upTo: bigint;
  epoch: string;
}

const MIN_ID = -(2n ** 63n);
const MAX_ID = 2n ** 63n - 1n;

function parseCounted(text: string): Counted {
  const [count = "", above = "", upTo = "", epoch = ""] = text.split(" ");
  return { count: Number(count), above: BigInt(above), upTo: BigInt(upTo), epoch };
}

/** Every other argument selects rows, and so belongs to the cache key. */
const PAGING = new Set(["first", "last", "offset", "before", "after", "orderBy"]);

function rowArguments(fieldArgs: FieldArgs, info: FieldInfo): Step<Record<string, unknown>> {
  const names = info.field.args.map(({ name }) => name).filter((name) => !PAGING.has(name));
  return object(Object.fromEntries(names.map((name) => [name, fieldArgs.getRaw(name)])));
}

/** Names in GraphQL of the columns that `countedBy` names. */
interface CountedNames {
  column: string;
  eitherWay: readonly string[];
}

/** The set that these arguments select, if the database may keep its number of rows. */
function keptSet(
  { condition, filter, ...others }: Record<string, unknown>,
  { column, eitherWay: [one = "", other = ""] }: CountedNames,
): KeptSet | null {
  if (Object.values(others).some((value) => value != null)) return null;
  const [field, ...more] = [condition, filter].flatMap((given) => Object.entries(given ?? {}));
  if (field === undefined) return { value: null };
  if (more.length > 0) return null;
  const [name, value] = field as [string, unknown];
  if (filter == null) {
    return name === column && typeof value === "string" ? { value } : null;
  }
  const pair = name === "or" ? unorderedPair(value, one, other) : undefined;
  return pair === undefined ? null : { value: null, pair };
}

/** The total, if the cache has it for the page's table version. */
function cachedTotal({ cached, page }: Task): number | undefined {
  if (page === null || cached?.epoch !== page.epoch) return undefined;
  return cached.checkpoints.find(({ upTo }) => upTo === page.newestId)?.count;
}

/** The counting statement; it is not sent when the task is null. */
function countRows(
  { $connection, resource, appendOnly, $kept }: CountedConnection,
  $task: Step<Task>,
): Step<Counted> {
  const $rows = aggregateOf($connection);
  const placeholder = (codec: PgCodec, valueOf: (task: Task) => unknown): SQL =>
    $rows.placeholder(lambda($task, valueOf, true), codec);
  const checkpoints = placeholder(listOfCodec(TYPES.bigint), ({ cached }) =>
    (cached?.checkpoints ?? []).map(({ upTo }) => String(upTo)),
  );
  const cachedEpoch = placeholder(TYPES.text, ({ cached }) => cached?.epoch ?? "");
  const upTo = placeholder(TYPES.bigint, ({ page }) => String(page?.newestId ?? MAX_ID));

  const id = sql.identifier(appendOnly.idColumn);
  const epoch = sql`(select epoch::text from ${appendOnly.epochTable})`;
  const minId = sql`${sql.literal(String(MIN_ID))}::bigint`;
  const newest = sql`select max(${id}) from ${resource.from as SQL} where ${id} <= ${upTo}`;
  const above = sql`coalesce((${newest} and ${id} = any (${checkpoints}) and ${epoch} = ${cachedEpoch}), ${minId})`;
  const { countedBy } = appendOnly;
  const ofSet = (codec: PgCodec, valueOf: (set: KeptSet | null) => unknown): SQL =>
    $rows.placeholder(lambda($kept, valueOf, true), codec);
  const pair = ofSet(listOfCodec(TYPES.text), (set) => set?.pair ?? null);
  const ofPair = countedBy?.eitherWay && sql`${countedBy.eitherWay.name}(${pair})`;
  const isSet = ofSet(TYPES.boolean, (set) => set !== null);
  const given = ofSet(TYPES.text, (set) => set?.value ?? null);
  const value = ofPair === undefined ? given : sql`coalesce(${given}, ${ofPair})`;
  const hasNumber =
    ofPair === undefined ? isSet : sql`${isSet} and (${pair} is null or ${ofPair} is not null)`;
  // A kept number is of all rows of the snapshot: without a checkpoint, only the rows after the page are
  // counted, and subtracted.
  const isKept = sql`(${hasNumber} and ${above} = ${minId})`;
  const least = sql`case when ${isKept} then ${upTo} else ${above} end`;
  const most = sql`case when ${isKept} then ${sql.literal(String(MAX_ID))}::bigint else ${upTo} end`;
  $rows.where(sql`${$rows.alias}.${id} > ${least} and ${$rows.alias}.${id} <= ${most}`);
  const count =
    countedBy === undefined
      ? sql`count(*)`
      : sql`case when ${isKept} then ${countedBy.name}(${value}) - count(*) else count(*) end`;
  const counted = sql`concat_ws(' ', ${count}, ${above}, coalesce((${newest}), ${minId}), ${epoch})`;
  return lambda($rows.singleAsRecord().select(counted, TYPES.text, true), parseCounted, true);
}

/** Each plugin has its own cache, because counts are of one database. */
export function makeTotalCountPlugin(): GraphileConfig.Plugin {
  const cache = new CountCache();
  const countedConnections = new WeakMap<Step, CountedConnection>();

  const taskOf = (key: string | null, page: TableVersion | null): Task => {
    return { key, cached: key === null ? undefined : cache.get(key), page };
  };

  const total = (
    task: Task | null,
    counted: Counted | null,
    attempt: PageAttempt | null,
    isKept: boolean,
  ): number => {
    if (task === null) throw new Error("totalCount has no task");
    const { key, cached, page } = task;
    const known = cachedTotal(task);
    const isOfPage =
      known !== undefined ||
      (counted !== null &&
        (page === null ||
          (key !== null && counted.upTo === page.newestId && counted.epoch === page.epoch)));
    attempt?.report(isOfPage);
    if (known !== undefined) return known;
    if (!isOfPage || counted === null) {
      if (attempt === null) throw new Error("totalCount and its page read different snapshots");
      return 0;
    }
    const { above, upTo, epoch } = counted;
    const valid = cached?.checkpoints.filter((checkpoint) => checkpoint.upTo <= above) ?? [];
    const count = (valid[0]?.count ?? 0) + counted.count;
    if (isKept && key !== null && upTo > MIN_ID) {
      cache.set(key, { epoch, checkpoints: withCheckpoint({ upTo, count }, valid) });
    }
    return count;
  };

  const totalCount = (
    connection: CountedConnection,
    $page: Step<TableVersion | null>,
    $attempt: Step<PageAttempt | undefined>,
  ): Step<number> => {
    const $task = combined([connection.$key, $page], taskOf);
    // Only a transaction can give the total of an empty page, which has no table version, or one that is not kept.
    const $toCount = combined([$task, $attempt], (task, attempt) =>
      task === null ||
      cachedTotal(task) !== undefined ||
      (attempt !== null && (task.page === null || task.key === null))
        ? null
        : task,
    );
    const $counted = countRows(connection, inhibitOnNull($toCount));
    // What was kept up to the bound holds, but a count up to it would take the place of newer ones.
    const isKept = !isInContext("isBounded", true);
    return combined([$task, $counted, $attempt], (task, counted, attempt) =>
      total(task, counted, attempt, isKept),
    );
  };

  return {
    name: "TotalCountPlugin",
    description: "Counts tables tagged @appendOnly incrementally.",

    schema: {
      hooks: {
        GraphQLObjectType_fields_field(field, build, { scope }) {
          const { plan } = field;
          if (plan === undefined) return field;

          if (scope.isPgFieldConnection === true && scope.isRootQuery === true) {
            const resource = scope.pgFieldResource as PgResource | undefined;
            const appendOnly = resource?.extensions?.appendOnly;
            // A function may return any rows, not only appended ones.
            if (resource === undefined || appendOnly === undefined || resource.parameters) {
              return field;
            }
            const columns = columnNames(build, resource);
            const rootPlan: FieldPlanResolver = ($parent, fieldArgs, info) => {
              const $connection = plan($parent, fieldArgs, info) as AnyConnection;
              const $args = rowArguments(fieldArgs, info);
              const { countedBy } = appendOnly;
              const nameOf = (attributeName: string): string =>
                build.inflection.attribute({ attributeName, codec: resource.codec as never });
              const names = countedBy && {
                column: nameOf(countedBy.column),
                eitherWay: countedBy.eitherWay?.columns.map(nameOf) ?? [],
              };
              const keptOf = (args: Record<string, unknown>): KeptSet | null =>
                names === undefined ? null : keptSet(args, names);
              const keyOf = (args: Record<string, unknown>): string | null =>
                isOfColumns(args, columns) ? countKey(resource.name, args) : null;
              const $key = lambda($args, keyOf, true);
              const $kept = lambda($args, keptOf, true);
              const connection = { $connection, resource, appendOnly, $key, $kept };
              countedConnections.set($connection, connection);
              return $connection;
            };
            const extensions = { ...field.extensions, isCountedBesidePage: true };
            return { ...field, extensions, plan: rootPlan };
          }

          if (scope.isPgConnectionTotalCountField === true) {
            const countPlan: FieldPlanResolver = ($connection, fieldArgs, info) => {
              const connection = countedConnections.get($connection);
              if (connection === undefined) return plan($connection, fieldArgs, info) as Step;
              if (!isInContext("isOnePage", true)) {
                return totalCount(connection, constant(null), constant(undefined));
              }
              const { resource, appendOnly } = connection;
              const $page = new TableVersionStep(connection.$connection, resource, appendOnly);
              return totalCount(connection, $page, fromContext<PageAttempt | undefined>("attempt"));
            };
            return { ...field, plan: countPlan };
          }
          return field;
        },
      },
    },
  };
}
