// Makes a cursor good for the order it was made in: its direction, its ties and its nulls.
//
// PostGraphile's cursor carries a digest of its order's columns but not of their direction, so that
// a cursor of BLOCK_DESC would be accepted under BLOCK_ASC and page through the wrong half. It takes
// an order by the first column of any unique key as unique, which loses rows that tie. And where a
// column can be null, it looks for the nulls on the wrong side of the cursor, which loses them too.
import {
  TYPES,
  type PgCodecAttribute,
  type PgCodecWithAttributes,
  type PgOrderSpec,
  type PgSelectQueryBuilder,
} from "postgraphile/@dataplan/pg";
import { sql, type SQL } from "postgraphile/pg-sql2";

type ApplyOrder = (builder: PgSelectQueryBuilder) => void;
type Column = Extract<PgOrderSpec, { attribute: string }>;
type OfColumn = NonNullable<Column["callback"]>;

/** The direction, in a comment, is part of the fragment that the digest is made of. */
const directed = (fragment: SQL, direction: "ASC" | "DESC"): SQL =>
  direction === "DESC" ? sql`${fragment} /* desc */` : fragment;

/** The same column with another expression in its place. */
function withExpression(spec: Column, change: OfColumn): Column {
  return {
    ...spec,
    callback(fragment, codec, nullable) {
      const [made, madeCodec] = spec.callback?.(fragment, codec, nullable) ?? [fragment, codec];
      return change(made, madeCodec, nullable);
    },
  };
}

/**
 * What to order by so that a cursor is right. A column that can be null is either ordered as '' where
 * it is null, which an index serves, or else after a column that says whether it is null.
 */
function orderFor(
  spec: PgOrderSpec,
  builder: PgSelectQueryBuilder,
  column: PgCodecAttribute | undefined,
  isIndexed: boolean,
): PgOrderSpec[] {
  const { direction } = spec;
  if (spec.attribute === undefined) {
    return [{ ...spec, fragment: directed(spec.fragment, direction) }];
  }
  const plain = withExpression(spec, (fragment, codec, nullable) => [
    directed(fragment, direction),
    codec,
    nullable,
  ]);
  if (column === undefined || column.notNull === true) return [plain];
  if (isIndexed) {
    return [
      withExpression(spec, (fragment, codec) => [
        directed(sql`coalesce(${fragment}, '')`, direction),
        codec,
        false,
      ]),
    ];
  }
  const isNull = sql`(${builder.alias}.${sql.identifier(spec.attribute)} is null)`;
  return [
    { fragment: directed(isNull, direction), codec: TYPES.boolean, nullable: false, direction },
    plain,
  ];
}

export const CursorsPlugin: GraphileConfig.Plugin = {
  name: "CursorsPlugin",
  version: "1.0.0",
  description:
    "A cursor is good for the order and direction that it was made in, and for no other.",

  schema: {
    hooks: {
      GraphQLEnumType_values_value(value, build, { scope }) {
        const apply = value.extensions?.grafast?.apply as ApplyOrder | undefined;
        if (scope.isPgRowSortEnum !== true || apply === undefined) return value;
        const codec = scope.pgCodec as PgCodecWithAttributes | undefined;
        const resource = codec && build.pgTableResource(codec);
        const isIndexed = resource?.extensions?.servedOrders !== undefined;
        const isByPrimaryKey = scope.valueName.startsWith("PRIMARY_KEY_");

        const applyForCursor: ApplyOrder = (builder) => {
          apply({
            ...builder,
            orderBy(spec) {
              if (typeof spec === "function") {
                builder.orderBy(spec);
                return;
              }
              const column = codec?.attributes[spec.attribute ?? ""];
              for (const order of orderFor(spec, builder, column, isIndexed)) {
                builder.orderBy(order);
              }
            },
            setOrderIsUnique() {
              // Without it the primary key is appended, which always makes the order unique.
              if (isByPrimaryKey) builder.setOrderIsUnique();
            },
          });
        };
        return {
          ...value,
          extensions: {
            ...value.extensions,
            grafast: { ...value.extensions?.grafast, apply: applyForCursor },
          },
        };
      },
    },
  },
};
