// Makes cursors correct for the direction, the ties and the nulls of their order.
//
// PostGraphile's cursor has a digest of the order's columns but not of their direction: a cursor of
// BLOCK_DESC would be accepted with BLOCK_ASC and return the wrong rows. PostGraphile also treats an
// order by the first column of any unique key as unique, which skips rows that tie, and expects nulls on
// the wrong side of the cursor, which skips them too: https://github.com/graphile/graphile-engine/issues/502.
//
// An order that an index serves becomes an order by the columns of that index: see served-orders.ts.
import {
  TYPES,
  type PgCodec,
  type PgOrderSpec,
  type PgResource,
  type PgSelectQueryBuilder,
} from "postgraphile/@dataplan/pg";
import { lambda, type GrafastArgumentConfig, type Step } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { applyTo, selectOf, type AnyConnection } from "./internals.ts";
import { totalKey } from "./total-key.ts";

type ApplyOrder = (builder: PgSelectQueryBuilder) => void;
type ColumnSpec = Extract<PgOrderSpec, { attribute: string }>;
type ApplyPlan = NonNullable<GrafastArgumentConfig["applyPlan"]>;
type Direction = PgOrderSpec["direction"];

/** The cursor's digest includes SQL comments. */
const withDirection = (fragment: SQL, direction: Direction): SQL =>
  direction === "DESC" ? sql`${fragment} ${sql.comment("desc", true)}` : fragment;

/** Orders a nullable column by `is null` first, so that a cursor finds the nulls. */
function unservedSpecs(spec: PgOrderSpec, resource: PgResource, alias: SQL): PgOrderSpec[] {
  const { direction } = spec;
  if (spec.attribute === undefined) {
    return [{ ...spec, fragment: withDirection(spec.fragment, direction) }];
  }
  const column: ColumnSpec = {
    ...spec,
    callback(fragment, codec, nullable) {
      const [made, madeCodec] = spec.callback?.(fragment, codec, nullable) ?? [fragment, codec];
      return [withDirection(made, direction), inCursor(madeCodec), nullable];
    },
  };
  if (resource.codec.attributes?.[spec.attribute]?.notNull === true) return [column];
  const isNull = sql`(${alias}.${sql.identifier(spec.attribute)} is null)`;
  return [
    {
      fragment: withDirection(isNull, direction),
      codec: TYPES.boolean,
      nullable: false,
      direction,
    },
    column,
  ];
}

/** What an index has in place of null. */
export const nullKey = (codec: PgCodec): SQL => (codec === TYPES.int ? sql`-1` : sql`''`);

/** Reads a value that JSON has too: an integer, a float or a boolean. A domain has the function of its type. */
const JSON_READERS = new Set<unknown>([TYPES.int.fromPg, TYPES.float.fromPg, TYPES.boolean.fromPg]);

/**
 * How a cursor has a value of the codec. PostgreSQL reads its own text of any value back, as of an interval or an
 * infinite time. PostGraphile reads each as its type instead, null included: null becomes 0 or an error.
 */
function inCursor(codec: PgCodec): PgCodec {
  const { castFromPg, ...rest } = codec;
  const isText = castFromPg === TYPES.text.castFromPg;
  const fromPg = (text: string | null): unknown => {
    if (text === null || !JSON_READERS.has(codec.fromPg)) return text;
    const value: unknown = codec.fromPg(text);
    return typeof value === "number" && !Number.isFinite(value) ? text : value;
  };
  return { ...rest, fromPg, ...(isText && { castFromPg }) };
}

/** Orders by a column of an index, which has a nullable column as coalesce(column, nullKey). */
function indexedSpec(
  column: string,
  requested: string,
  direction: Direction,
  { codec }: PgResource,
): ColumnSpec {
  const isNullable = codec.attributes?.[column]?.notNull !== true;
  return {
    attribute: column,
    direction,
    callback: (fragment, columnCodec) => {
      const expression = isNullable
        ? sql`coalesce(${fragment}, ${nullKey(columnCodec)})`
        : fragment;
      // One index serves several orders: the digest must differ between them.
      const labelled = sql`${expression} ${sql.comment(requested, true)}`;
      return [withDirection(labelled, direction), inCursor(columnCodec), false];
    },
  };
}

/** Collects all requested columns before ordering, because an index serves them together. */
function applyOrder(apply: ApplyOrder, builder: PgSelectQueryBuilder, resource: PgResource): void {
  const requested: PgOrderSpec[] = [];
  apply({
    ...builder,
    orderBy: (spec) => {
      requested.push(typeof spec === "function" ? spec(builder as never) : spec);
    },
    setOrderIsUnique: () => undefined,
  });
  const key = totalKey(resource) ?? [];
  // NATURAL has no columns: it means the key, and so do its cursors.
  if (requested.length === 0) {
    requested.push(...key.map((attribute): ColumnSpec => ({ attribute, direction: "ASC" })));
  }
  const columns = requested.map(({ attribute }) => attribute);
  const { direction = "ASC" } = requested[0] ?? {};
  const text = columns.join();
  const served = resource.extensions?.servedOrders?.find((one) => one.requested.join() === text);
  const specs = served
    ? served.columns.map((column) => indexedSpec(column, text, direction, resource))
    : requested.flatMap((spec) => unservedSpecs(spec, resource, builder.alias));
  for (const spec of specs) builder.orderBy(spec);
  if (served === undefined && !key.every((column) => columns.includes(column))) {
    for (const column of key) {
      const codec = resource.codec.attributes?.[column]?.codec ?? TYPES.text;
      const fragment = sql`${builder.alias}.${sql.identifier(column)}`;
      builder.orderBy({ fragment, codec: inCursor(codec), direction });
    }
  }
  // PostGraphile would append its first unique key, which may be nullable.
  builder.setOrderIsUnique();
}

export const CursorsPlugin: GraphileConfig.Plugin = {
  name: "CursorsPlugin",
  description: "Makes a cursor valid only for the order and direction it was created with.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
        const resource = scope.pgFieldResource as PgResource | undefined;
        if (scope.argName !== "orderBy" || scope.isPgFieldConnection !== true) return arg;
        if (resource === undefined) return arg;
        const applyPlan: ApplyPlan = (_$parent, $field, value) => {
          const $select = selectOf($field as AnyConnection);
          // Stands in for the select step, to wrap the order that the argument applies to it.
          const target = {
            withLayerPlan: <T>(callback: () => T): T => $select.withLayerPlan(callback),
            apply: ($apply: Step<ApplyOrder>) =>
              $select.apply(
                lambda(
                  $apply,
                  (apply): ApplyOrder =>
                    (builder) =>
                      applyOrder(apply, builder, resource),
                  true,
                ),
              ),
          };
          applyTo(value, target);
        };
        return { ...arg, applyPlan };
      },
    },
  },
};
