// How many entries the lists of a schema's own description have.
import {
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
} from "graphql";

/** Entries by the list's type and field. */
export type ListSizes = ReadonlyMap<string, number>;

const known = new WeakMap<GraphQLSchema, ListSizes>();

/** Of `__Schema.types` and `directives` the number, of what types and fields hold the mean. */
export function listSizes(schema: GraphQLSchema): ListSizes {
  const kept = known.get(schema);
  if (kept !== undefined) return kept;
  const types = Object.values(schema.getTypeMap());
  const fields = types.flatMap(fieldsOf);
  const sizes: ListSizes = new Map([
    ["__Schema.types", types.length],
    ["__Schema.directives", schema.getDirectives().length],
    ["__Type.fields", mean(types.filter(hasFields).map((type) => fieldsOf(type).length))],
    ["__Type.interfaces", mean(types.filter(isObjectType).map((t) => t.getInterfaces().length))],
    [
      "__Type.possibleTypes",
      mean(types.filter(isInterfaceType).map((type) => schema.getPossibleTypes(type).length)),
    ],
    ["__Type.enumValues", mean(types.filter(isEnumType).map((type) => type.getValues().length))],
    [
      "__Type.inputFields",
      mean(types.filter(isInputObjectType).map((t) => Object.keys(t.getFields()).length)),
    ],
    ["__Field.args", mean(fields.map(({ args }) => args.length))],
    ["__Directive.args", 1],
  ]);
  known.set(schema, sizes);
  return sizes;
}

const hasFields = (type: GraphQLNamedType) => isObjectType(type) || isInterfaceType(type);

const fieldsOf = (type: GraphQLNamedType): GraphQLField<unknown, unknown>[] =>
  isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];

const mean = (sizes: number[]): number =>
  Math.max(1, sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, sizes.length));
