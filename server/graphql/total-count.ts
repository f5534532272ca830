// Counts a table tagged @appendOnly without reading it whole: what was counted is kept, and the next
// totalCount of the same rows counts only what is newer. It stays exact.
//
// One statement counts the rows above the id that the kept count goes up to, and reads the newest id
// and the epoch as of its own snapshot. The kept count holds there when the epoch is its own and no
// id that it counted is missing; the snapshot may be older than the kept count. Otherwise a second
// statement counts everything.
//
// Beside a page the count is as of the page's moment, which the page's own statement tells. Where the
// kept count is of that very moment, there is nothing to count. Where it is older, a statement counts
// the ids in between: within the epoch they stay as they were, so it need not be in the page's
// snapshot, as long as it finds the epoch to be the same. Where they are few, as with a writer at
// work, these rows are read by their ids alone, so that the count costs the same whatever it is of.
import {
  TYPES,
  type PgResource,
  type PgSelectQueryBuilder,
  type PgSelectStep,
} from "postgraphile/@dataplan/pg";
import {
  constant,
  context,
  inhibitOnNull,
  lambda,
  object,
  type ConnectionStep,
  type FieldArgs,
  type FieldInfo,
  type FieldPlanResolver,
  type Step,
} from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import type { AppendOnly } from "./append-only.ts";
import { combined } from "./combined.ts";
import { KeptCounts, keyOf, type KeptCount } from "./kept-counts.ts";
import { PageMomentStep, type Moment } from "./page-moment.ts";
import type { Attempt } from "./snapshot.ts";

type AnyConnection = ConnectionStep<unknown, never, never, never>;

/** What a connection's totalCount needs: the table, and the key of the rows that it counts. */
interface Counted {
  $connection: AnyConnection;
  resource: PgResource;
  appendOnly: AppendOnly;
  $key: Step<string>;
}

/** What a statement saw: its count, the newest id of the table, and the epoch. */
interface Seen {
  count: number;
  /** Null of an empty table. */
  newest: bigint | null;
  epoch: string;
}

const NONE = "-";

/** As a statement tells it; null where it was not sent. */
function seenIn(text: string | null): Seen | null {
  if (text === null) return null;
  const [count = "", newest = "", epoch = ""] = text.split(" ");
  return { count: Number(count), newest: newest === NONE ? null : BigInt(newest), epoch };
}

/** Every other argument is taken to say which rows there are. */
const PAGING = new Set(["first", "last", "offset", "before", "after", "orderBy"]);

function rowArguments(fieldArgs: FieldArgs, info: FieldInfo): Step<Record<string, unknown>> {
  const names = info.field.args.map(({ name }) => name).filter((name) => !PAGING.has(name));
  return object(Object.fromEntries(names.map((name) => [name, fieldArgs.getRaw(name)])));
}

/** Whether these rows go on to be as they were in the snapshot of a statement that saw this. */
const holds = ({ upTo, epoch }: Pick<KeptCount, "upTo" | "epoch">, seen: Seen): boolean =>
  seen.epoch === epoch && seen.newest !== null && seen.newest >= upTo;

/** Whether what is counted is counted further on, as of the page's moment if there is a page. */
const goesOn = (kept: KeptCount | null, page: Moment | null): kept is KeptCount =>
  kept !== null && (page === null || (kept.epoch === page.epoch && kept.upTo <= page.newest));

/** The ids that are still to be counted. */
interface Uncounted {
  above: bigint | undefined;
  /** Inclusive. */
  upTo: bigint | undefined;
}

/** Null where there is nothing to count, or nothing to count by. */
function uncounted(
  kept: KeptCount | null,
  page: Moment | null,
  attempt: Attempt | null,
): Uncounted | null {
  // Where no row tells the page's moment, only a transaction can hold on to it.
  if (page === null && attempt !== null) return null;
  const above = goesOn(kept, page) ? kept.upTo : undefined;
  return page !== null && above === page.newest ? null : { above, upTo: page?.newest };
}

/** Some of them; the upper bound is inclusive as well. */
interface Ids {
  above: bigint;
  upTo: bigint;
}

/** So many ids are read one after the other; of more, an index may know a shorter way. */
const FEW = 10_000n;

/** The oldest of the uncounted ids, both bounds known: all of them if they are few. Else null. */
function oldestOf(ids: Uncounted | null): Ids | null {
  if (ids?.above === undefined) return null;
  const { above, upTo = above + FEW } = ids;
  return upTo - above > FEW ? null : { above, upTo };
}

/** The ids to count all the same, once the oldest of them were counted; null where none is left. */
function beyond(
  ids: Uncounted | null,
  oldest: Ids | null,
  fewSeen: string | null,
): Uncounted | null {
  if (ids === null || oldest === null) return ids;
  const newest = seenIn(fewSeen)?.newest ?? null;
  const isAll = ids.upTo !== undefined || newest === null || newest <= oldest.upTo;
  return isAll ? null : ids;
}

/** The rows of a connection, to be counted and not to be paged. */
function rowsToCount({ $connection }: Counted): PgSelectStep {
  const clone = $connection.cloneSubplanWithoutPagination.bind($connection) as (
    mode: "aggregate",
  ) => unknown;
  return clone("aggregate") as PgSelectStep;
}

/** What the types of a PgSelectStep leave out: what it selects from, its table if nothing else. */
interface SelectsFrom {
  from: SQL;
}

/**
 * The rows of a connection among some ids, found by these ids. Left to choose, PostgreSQL goes through
 * all that an index has of, say, a market's taker: it plans without knowing that the ids are few.
 */
function rowsAmong($ids: Step<Ids>, counted: Counted): PgSelectStep {
  const { resource, appendOnly } = counted;
  const id = sql.identifier(appendOnly.idColumn);
  const $rows = rowsToCount(counted);
  const bound = (name: keyof Ids): SQL =>
    $rows.placeholder(
      lambda($ids, (ids) => String(ids[name]), true),
      TYPES.bigint,
    );
  const above = bound("above");
  const upTo = bound("upTo");
  // PostgreSQL takes no condition from around a subquery with a limit into it. This one leaves out
  // nothing, and has the ids read in their order, rather than all of an index that holds them second.
  ($rows as unknown as SelectsFrom).from = sql`(
    select *
    from ${resource.from as SQL}
    where ${id} > ${above} and ${id} <= ${upTo}
    order by ${id}
    limit ${upTo} - ${above}
  )`;
  return $rows;
}

/** What `seenIn` reads: one value, for each is a step. */
function seenBy($rows: PgSelectStep, { resource, appendOnly }: Counted): Step<string | null> {
  const { idColumn, epochTable } = appendOnly;
  const newest = sql`(select max(${sql.identifier(idColumn)})::text from ${resource.from as SQL})`;
  const none = sql.literal(NONE);
  const epoch = sql`(select epoch from ${epochTable})`;
  return $rows
    .singleAsRecord()
    .select(
      sql`concat_ws(' ', count(*), coalesce(${newest}, ${none}), ${epoch})`,
      TYPES.text,
      true,
    );
}

/** Makes the plugin, with no count kept yet: what it keeps is of one database. */
export function makeTotalCountPlugin(): GraphileConfig.Plugin {
  const counts = new KeptCounts();
  const countedBy = new WeakMap<Step, Counted>();
  const recall = (key: string): KeptCount | null => counts.recall(key) ?? null;

  /** The total, as of the page's moment. */
  const addToPage = (
    key: string,
    kept: KeptCount | null,
    { newest, epoch }: Moment,
    between: Seen | null,
    attempt: Attempt | null,
  ): number => {
    if (between !== null && !holds({ upTo: newest, epoch }, between)) {
      if (attempt === null) throw new Error("a transaction has not kept its snapshot");
      attempt.report(false);
      return 0;
    }
    attempt?.report(true);
    const base = goesOn(kept, { newest, epoch }) ? kept.count : 0;
    const count = base + (between?.count ?? 0);
    if (between !== null) counts.keep(key, { count, upTo: newest, epoch });
    return count;
  };

  const add = (
    key: string | null,
    kept: KeptCount | null,
    page: Moment | null,
    newerSeen: string | null,
    allSeen: string | null,
    attempt: Attempt | null,
  ): number => {
    if (key === null) throw new Error("a total is of rows that have no key");
    const newer = seenIn(newerSeen);
    if (page !== null) return addToPage(key, kept, page, newer, attempt);
    if (newer === null) {
      attempt?.report(false);
      return 0;
    }
    const { count, newest, epoch } = seenIn(allSeen) ?? newer;
    const base = allSeen === null ? (kept?.count ?? 0) : 0;
    const total = base + count;
    if (newest !== null) counts.keep(key, { count: total, upTo: newest, epoch });
    return total;
  };

  const totalCount = (
    counted: Counted,
    beside?: { $page: Step<Moment | null>; $attempt: Step<Attempt | undefined> },
  ): Step<number> => {
    const { $page, $attempt } = beside ?? { $page: constant(null), $attempt: constant(undefined) };
    const id = sql.identifier(counted.appendOnly.idColumn);
    const boundedBy =
      ({ above, upTo }: Uncounted) =>
      (builder: PgSelectQueryBuilder): void => {
        const { alias } = builder;
        const bound = (value: bigint): SQL => sql`${sql.value(String(value))}::bigint`;
        if (above !== undefined) builder.where(sql`${alias}.${id} > ${bound(above)}`);
        if (upTo !== undefined) builder.where(sql`${alias}.${id} <= ${bound(upTo)}`);
      };

    // Recalled before the page is asked for, the count is never of a later moment than the page's. One
    // that another request has kept since may be of the page's very moment.
    const $before = lambda(counted.$key, recall, true);
    const $kept = beside
      ? combined([counted.$key, $before, $page], (key, before, page) => {
          const since = key === null ? null : recall(key);
          return goesOn(since, page) ? since : before;
        })
      : $before;
    const $uncounted = combined([$kept, $page, $attempt], uncounted);

    const $oldest = lambda($uncounted, oldestOf, true);
    const $few = seenBy(rowsAmong(inhibitOnNull($oldest), counted), counted);

    const $beyond = combined([$uncounted, $oldest, $few], beyond);
    const $newerRows = rowsToCount(counted);
    $newerRows.apply(lambda(inhibitOnNull($beyond), boundedBy, true));
    const $many = seenBy($newerRows, counted);
    const $newer = combined([$many, $few], (many, few) => many ?? few);

    // Null, on which the second statement is not sent, or else a change of it that changes nothing.
    const $isVoid = combined([$kept, $page, $newer], (kept, page, newer) => {
      const seen = seenIn(newer);
      const isVoid = page !== null || seen === null || kept === null || holds(kept, seen);
      return isVoid ? null : () => undefined;
    });
    const $allRows = rowsToCount(counted);
    $allRows.apply(inhibitOnNull($isVoid));
    const $all = seenBy($allRows, counted);

    return combined([counted.$key, $kept, $page, $newer, $all, $attempt], add);
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
              const $key = lambda(
                rowArguments(fieldArgs, info),
                (args) => keyOf(resource.name, args),
                true,
              );
              countedBy.set($connection, { $connection, resource, appendOnly, $key });
              return $connection;
            };
            const extensions = { ...field.extensions, isCountedBesideRows: true };
            return { ...field, extensions, plan: rootPlan };
          }

          if (scope.isPgConnectionTotalCountField === true) {
            const countPlan: FieldPlanResolver = ($connection, fieldArgs, info) => {
              const counted = countedBy.get($connection);
              return counted === undefined
                ? (plan($connection, fieldArgs, info) as Step)
                : totalCount(counted);
            };
            const planBesideRows: FieldPlanResolver = ($connection, fieldArgs, info) => {
              const counted = countedBy.get($connection);
              if (counted === undefined) return plan($connection, fieldArgs, info) as Step;
              const { resource, appendOnly } = counted;
              const $page = new PageMomentStep(counted.$connection, resource, appendOnly);
              const $attempt = context().get("attempt") as unknown as Step<Attempt | undefined>;
              return totalCount(counted, { $page, $attempt });
            };
            const extensions = { ...field.extensions, planBesideRows };
            return { ...field, extensions, plan: countPlan };
          }
          return field;
        },
      },
    },
  };
}
