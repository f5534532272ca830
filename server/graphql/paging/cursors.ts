// Orders rows as asked, so that a cursor is good for the order it was made in: its direction, its ties
// and its nulls.
//
// PostGraphile's cursor carries a digest of its order's columns but not of their direction, so that
// a cursor of BLOCK_DESC would be accepted under BLOCK_ASC and page through the wrong half. It takes
// an order by the first column of any unique key as unique, which loses rows that tie. And where a
// column can be null, it looks for the nulls on the wrong side of the cursor, which loses them too.
//
// An order that an index serves is said by the columns of that index: see served-orders.ts.
import {
  TYPES,
  type PgOrderSpec,
  type PgResource,
  type PgSelectQueryBuilder,
} from "postgraphile/@dataplan/pg";
import { lambda, type GrafastArgumentConfig, type Step } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import { applyTo, selectOf, type AnyConnection } from "../grafast-internals.ts";

type ApplyOrder = (builder: PgSelectQueryBuilder) => void;
type OfColumn = Extract<PgOrderSpec, { attribute: string }>;
type ApplyPlan = NonNullable<GrafastArgumentConfig["applyPlan"]>;
type Direction = PgOrderSpec["direction"];

/** A comment in a fragment is part of what the digest is made of. */
const directed = (fragment: SQL, direction: Direction): SQL =>
  direction === "DESC" ? sql`${fragment} ${sql.comment("desc", true)}` : fragment;

/** What to order by so that a cursor is right: a column that can be null after whether it is. */
function unserved(spec: PgOrderSpec, resource: PgResource, alias: SQL): PgOrderSpec[] {
  const { direction } = spec;
  if (spec.attribute === undefined) {
    return [{ ...spec, fragment: directed(spec.fragment, direction) }];
  }
  const column: OfColumn = {
    ...spec,
    callback(fragment, codec, nullable) {
      const [made, madeCodec] = spec.callback?.(fragment, codec, nullable) ?? [fragment, codec];
      return [directed(made, direction), madeCodec, nullable];
    },
  };
  if (resource.codec.attributes?.[spec.attribute]?.notNull === true) return [column];
  const isNull = sql`(${alias}.${sql.identifier(spec.attribute)} is null)`;
  return [
    { fragment: directed(isNull, direction), codec: TYPES.boolean, nullable: false, direction },
    column,
  ];
}

/** A column of an index; a text that can be null is in it as '' where it is null. */
function indexed(column: string, asked: string, direction: Direction, { codec }: PgResource) {
  const isNullable = codec.attributes?.[column]?.notNull !== true;
  const spec: OfColumn = {
    attribute: column,
    direction,
    callback: (fragment, columnCodec) => {
      const known = isNullable ? sql`coalesce(${fragment}, '')` : fragment;
      // One index serves several orders, which the digest tells apart.
      const told = sql`${known} ${sql.comment(asked, true)}`;
      return [directed(told, direction), columnCodec, false];
    },
  };
  return spec;
}

/** Orders as asked, all columns together. */
function order(ask: ApplyOrder, builder: PgSelectQueryBuilder, resource: PgResource): void {
  const asked: PgOrderSpec[] = [];
  ask({
    ...builder,
    orderBy: (spec) => {
      asked.push(typeof spec === "function" ? spec(builder as never) : spec);
    },
    // Without it the primary key is appended, which always makes the order unique.
    setOrderIsUnique: () => undefined,
  });
  const primaryKey = resource.uniques.find(({ isPrimary }) => isPrimary)?.attributes ?? [];
  // NATURAL asks for none: it is the order of the primary key, and its cursors are good for that.
  if (asked.length === 0) {
    asked.push(...primaryKey.map((attribute): OfColumn => ({ attribute, direction: "ASC" })));
  }
  const columns = asked.map(({ attribute }) => attribute);
  const { direction = "ASC" } = asked[0] ?? {};
  const text = columns.join();
  const served = resource.extensions?.servedOrders?.find((one) => one.asked.join() === text);
  const specs = served
    ? served.columns.map((column) => indexed(column, text, direction, resource))
    : asked.flatMap((spec) => unserved(spec, resource, builder.alias));
  for (const spec of specs) builder.orderBy(spec);

  const isWhole = primaryKey.length > 0 && primaryKey.every((column) => columns.includes(column));
  if (served !== undefined || isWhole) builder.setOrderIsUnique();
}

export const CursorsPlugin: GraphileConfig.Plugin = {
  name: "CursorsPlugin",
  version: "1.0.0",
  description:
    "A cursor is good for the order and direction that it was made in, and for no other.",

  schema: {
    hooks: {
      GraphQLObjectType_fields_field_args_arg(arg, _build, { scope }) {
        const resource = scope.pgFieldResource as PgResource | undefined;
        if (scope.argName !== "orderBy" || scope.isPgFieldConnection !== true) return arg;
        if (resource === undefined) return arg;
        const applyPlan: ApplyPlan = (_$parent, $field, value) => {
          const $select = selectOf($field as AnyConnection);
          // It takes the place of the rows, and has them ordered by what is asked of it.
          const asked = {
            withLayerPlan: <T>(callback: () => T): T => $select.withLayerPlan(callback),
            apply: ($ask: Step<ApplyOrder>) =>
              $select.apply(
                lambda(
                  $ask,
                  (ask): ApplyOrder =>
                    (builder) =>
                      order(ask, builder, resource),
                  true,
                ),
              ),
          };
          applyTo(value, asked);
        };
        return { ...arg, applyPlan };
      },
    },
  },
};
