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
  type PgCodecAttribute,
  type PgOrderSpec,
  type PgResource,
  type PgSelectQueryBuilder,
} from "postgraphile/@dataplan/pg";
import { lambda, type GrafastArgumentConfig, type Step } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { keepOrder, type ExpressionSpec } from "./beyond-cursor.ts";
import { applyTo, selectOf, type AnyConnection } from "./internals.ts";
import { totalKey } from "./total-key.ts";

type ApplyOrder = (builder: PgSelectQueryBuilder) => void;
type ApplyPlan = NonNullable<GrafastArgumentConfig["applyPlan"]>;
type Direction = PgOrderSpec["direction"];

function attributeOf({ attributes }: PgCodec, column: string): PgCodecAttribute {
  const attribute = attributes?.[column];
  if (attribute === undefined) throw new Error(`no column ${column}`);
  return attribute;
}

/** The cursor's digest includes SQL comments. */
const withDirection = (fragment: SQL, direction: Direction): SQL =>
  direction === "DESC" ? sql`${fragment} ${sql.comment("desc", true)}` : fragment;

/** Orders a nullable column by `is null` first, so that a cursor finds the nulls. */
function unservedSpecs(spec: PgOrderSpec, { codec }: PgResource, alias: SQL): ExpressionSpec[] {
  const { attribute: column, callback, direction, nulls } = spec;
  if (column === undefined) {
    return [{ ...spec, fragment: withDirection(spec.fragment, direction) }];
  }
  const attribute = attributeOf(codec, column);
  const nullable = attribute.notNull !== true;
  const expression = sql`${alias}.${sql.identifier(column)}`;
  const [made, madeCodec] = callback?.(expression, attribute.codec, nullable) ?? [
    expression,
    attribute.codec,
  ];
  const ofColumn: ExpressionSpec = {
    fragment: withDirection(made, direction),
    codec: inCursor(madeCodec),
    direction,
    ...(nulls && { nulls }),
  };
  if (!nullable) return [ofColumn];
  return [
    {
      fragment: withDirection(sql`(${expression} is null)`, direction),
      codec: TYPES.boolean,
      nullable: false,
      direction,
    },
    { ...ofColumn, nullable },
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
  { codec: rowCodec }: PgResource,
  alias: SQL,
): ExpressionSpec {
  const { codec, notNull } = attributeOf(rowCodec, column);
  const value = sql`${alias}.${sql.identifier(column)}`;
  const expression = notNull === true ? value : sql`coalesce(${value}, ${nullKey(codec)})`;
  // One index serves several orders: the digest must differ between them.
  const labelled = sql`${expression} ${sql.comment(requested, true)}`;
  return { fragment: withDirection(labelled, direction), codec: inCursor(codec), direction };
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
  const { alias } = builder;
  const key = totalKey(resource) ?? [];
  // NATURAL has no columns: it means the key, and so do its cursors.
  if (requested.length === 0) {
    requested.push(...key.map((attribute): PgOrderSpec => ({ attribute, direction: "ASC" })));
  }
  const columns = requested.map(({ attribute }) => attribute);
  const { direction = "ASC" } = requested[0] ?? {};
  const text = columns.join();
  const served = resource.extensions?.servedOrders?.find((one) => one.requested.join() === text);
  const specs = served
    ? served.columns.map((name) => indexedSpec(name, text, direction, resource, alias))
    : requested.flatMap((spec) => unservedSpecs(spec, resource, alias));
  if (served === undefined && !key.every((column) => columns.includes(column))) {
    for (const column of key) {
      const { codec } = attributeOf(resource.codec, column);
      const fragment = sql`${alias}.${sql.identifier(column)}`;
      specs.push({ fragment, codec: inCursor(codec), direction });
    }
  }
  for (const spec of specs) builder.orderBy(spec);
  keepOrder(builder, specs);
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
