// Counts a table tagged @appendOnly without reading it whole: what was counted is kept, and the next
// totalCount of the same rows counts only what is newer. It stays exact.
//
// A count up to an id holds wherever the row of that id is there, in the same epoch: no id is given
// twice, and what is taken back are the newest rows. So one statement finds the newest of the kept counts
// that hold in its own snapshot, and counts the rows behind it.
//
// Beside a page the count is as of the page's moment, which the page's own statement tells. Where the
// kept count is of that very moment, there is nothing to count. Else the statement counts up to the
// page's newest id; it need not be in the page's snapshot, as long as it finds that id and the epoch.
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
import { combined } from "../combined.ts";
import { aggregateOf, fromContext, type AnyConnection } from "../grafast-internals.ts";
import type { AppendOnly } from "./append-only.ts";
import { KeptCounts, keyOf, marksWith, type Kept } from "./kept-counts.ts";
import { PageMomentStep, type Moment } from "./page-moment.ts";
import type { Attempt } from "../rows/operation-snapshot.ts";

/** What a connection's totalCount needs: the table, and the key of the rows that it counts. */
interface Counted {
  $connection: AnyConnection;
  resource: PgResource;
  appendOnly: AppendOnly;
  $key: Step<string>;
}

/** What a count goes on from, and up to what. */
interface Task {
  key: string;
  kept: Kept | undefined;
  /** Null where there is no page, or no row of it to tell its moment by. */
  page: Moment | null;
}

/** What a statement saw, all of one snapshot. */
interface Seen {
  count: number;
  /** The id that it counted from: that of a mark, or the least that there can be. */
  above: bigint;
  /** The id that it counted up to: that of the newest row, or the least that there can be. */
  upTo: bigint;
  epoch: string;
}

const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;

function seenIn(text: string): Seen {
  const [count = "", above = "", upTo = "", epoch = ""] = text.split(" ");
  return { count: Number(count), above: BigInt(above), upTo: BigInt(upTo), epoch };
}

/** Every other argument is taken to say which rows there are. */
const PAGING = new Set(["first", "last", "offset", "before", "after", "orderBy"]);

function rowArguments(fieldArgs: FieldArgs, info: FieldInfo): Step<Record<string, unknown>> {
  const names = info.field.args.map(({ name }) => name).filter((name) => !PAGING.has(name));
  return object(Object.fromEntries(names.map((name) => [name, fieldArgs.getRaw(name)])));
}

/** The total where it is kept as of the page's very moment. */
function knownOf({ kept, page }: Task): number | undefined {
  if (page === null || kept?.epoch !== page.epoch) return undefined;
  return kept.marks.find(({ upTo }) => upTo === page.newest)?.count;
}

/** The statement that counts, and tells what it saw; it is not sent where the task is null. */
function countRows({ $connection, resource, appendOnly }: Counted, $task: Step<Task>): Step<Seen> {
  const $rows = aggregateOf($connection);
  const given = (codec: PgCodec, valueOf: (task: Task) => unknown): SQL =>
    $rows.placeholder(lambda($task, valueOf, true), codec);
  const marks = given(listOfCodec(TYPES.bigint), ({ kept }) =>
    (kept?.marks ?? []).map(({ upTo }) => String(upTo)),
  );
  const keptEpoch = given(TYPES.text, ({ kept }) => kept?.epoch ?? "");
  const upTo = given(TYPES.bigint, ({ page }) => String(page?.newest ?? MOST));

  const id = sql.identifier(appendOnly.idColumn);
  const epoch = sql`(select epoch::text from ${appendOnly.epochTable})`;
  const least = sql`${sql.literal(String(LEAST))}::bigint`;
  const newest = sql`select max(${id}) from ${resource.from as SQL} where ${id} <= ${upTo}`;
  const above = sql`coalesce((${newest} and ${id} = any (${marks}) and ${epoch} = ${keptEpoch}), ${least})`;
  $rows.where(sql`${$rows.alias}.${id} > ${above} and ${$rows.alias}.${id} <= ${upTo}`);
  const seen = sql`concat_ws(' ', count(*), ${above}, coalesce((${newest}), ${least}), ${epoch})`;
  return lambda($rows.singleAsRecord().select(seen, TYPES.text, true), seenIn, true);
}

/** Makes the plugin, with no count kept yet: what it keeps is of one database. */
export function makeTotalCountPlugin(): GraphileConfig.Plugin {
  const counts = new KeptCounts();
  const countedBy = new WeakMap<Step, Counted>();

  const taskOf = (key: string | null, page: Moment | null): Task => {
    if (key === null) throw new Error("a total is of rows that have no key");
    return { key, kept: counts.recall(key), page };
  };

  const total = (task: Task | null, seen: Seen | null, attempt: Attempt | null): number => {
    if (task === null) throw new Error("a total is of nothing that was asked");
    const { key, kept, page } = task;
    const known = knownOf(task);
    const holds =
      known !== undefined ||
      (seen !== null &&
        (page === null || (seen.upTo === page.newest && seen.epoch === page.epoch)));
    attempt?.report(holds);
    if (known !== undefined) return known;
    if (!holds || seen === null) {
      if (attempt === null) throw new Error("a transaction has not kept its snapshot");
      return 0;
    }
    const { above, upTo, epoch } = seen;
    const standing = kept?.marks.filter((mark) => mark.upTo <= above) ?? [];
    const count = (standing[0]?.count ?? 0) + seen.count;
    if (upTo > LEAST) counts.keep(key, { epoch, marks: marksWith({ upTo, count }, standing) });
    return count;
  };

  const totalCount = (
    counted: Counted,
    $page: Step<Moment | null>,
    $attempt: Step<Attempt | undefined>,
  ): Step<number> => {
    const $task = combined([counted.$key, $page], taskOf);
    // Where no row tells the page's moment, only a transaction can hold on to it.
    const $toCount = combined([$task, $attempt], (task, attempt) =>
      task === null || knownOf(task) !== undefined || (task.page === null && attempt !== null)
        ? null
        : task,
    );
    const $seen = countRows(counted, inhibitOnNull($toCount));
    return combined([$task, $seen, $attempt], total);
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
                : totalCount(counted, constant(null), constant(undefined));
            };
            const planBesideRows: FieldPlanResolver = ($connection, fieldArgs, info) => {
              const counted = countedBy.get($connection);
              if (counted === undefined) return plan($connection, fieldArgs, info) as Step;
              const { resource, appendOnly } = counted;
              const $page = new PageMomentStep(counted.$connection, resource, appendOnly);
              const $attempt = fromContext<Attempt | undefined>("attempt");
              return totalCount(counted, $page, $attempt);
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
