// Has PostgreSQL look each row up in a list that ignores case, as a set that it makes once for a statement.
//
// The filter plugin compares with a subquery that lowers the list. Where it is not within another expression, PostgreSQL makes a
// join of it; with `first` that is a nested one, which lowers the whole list anew for each row. A subquery within an
// expression stays a subquery.
import type { PgCondition } from "postgraphile/@dataplan/pg";
import type { GrafastInputFieldConfig } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";

type Apply = NonNullable<GrafastInputFieldConfig["apply"]>;

export const ListsWithoutCasePlugin: GraphileConfig.Plugin = {
  name: "ListsWithoutCasePlugin",
  description: "Looks rows up in the list of inInsensitive.",

  schema: {
    hooks: {
      GraphQLInputObjectType_fields_field(
        field: GrafastInputFieldConfig,
        _build,
        { scope: { pgConnectionFilterOperators, fieldName } },
      ) {
        const { apply } = field;
        if (pgConnectionFilterOperators === undefined || fieldName !== "inInsensitive")
          return field;
        if (apply === undefined) return field;
        const within: Apply = ($where: PgCondition, ...given) => {
          const { alias, extensions } = $where;
          // Null stays null.
          const where = (condition: SQL): void => $where.where(sql`(${condition}) = true`);
          return apply({ alias, extensions, where }, ...given) as unknown;
        };
        return { ...field, apply: within };
      },
    },
  },
};
