// The directive @asOf: which past block an operation asks for.
import {
  DirectiveLocation,
  getDirectiveValues,
  GraphQLDirective,
  GraphQLError,
  GraphQLInt,
  GraphQLString,
  type DirectiveNode,
  type GraphQLInputType,
  type OperationDefinitionNode,
} from "graphql";
import type { AsOf } from "../../market/queries/as-of.ts";

export const AS_OF = "asOf";

const NAMES = ["block", "time", "hash"] as const;

export const isAsOf = ({ directives = [] }: OperationDefinitionNode): boolean =>
  directives.length > 0 && directives.some(isTheDirective);

const isTheDirective = ({ name }: DirectiveNode): boolean => name.value === AS_OF;

const makeDirective = (Datetime: GraphQLInputType): GraphQLDirective =>
  new GraphQLDirective({
    name: AS_OF,
    description:
      "Answers the whole operation as of a past block: as a database would that ended with it. Takes exactly one argument.",
    locations: [DirectiveLocation.QUERY],
    args: {
      block: {
        type: GraphQLInt,
        description:
          "The last recorded block at or below this number: blocks without rows are not kept.",
      },
      time: { type: Datetime, description: "The last block at or before this time." },
      hash: { type: GraphQLString, description: "The block of this hash." },
    },
  });

const badInput = (message: string, nodes: DirectiveNode): GraphQLError =>
  new GraphQLError(message, { nodes, extensions: { code: "BAD_USER_INPUT" } });

const ACCEPTED = {
  block: "an integer from 0 to 2147483647",
  time: 'a time in ISO 8601, for example "2018-06-19T14:00:43Z", with an offset of less than 15 hours',
  hash: "the hash of a block: 0x and 64 hexadecimal digits",
};

/** The block that an operation's directive names, or why it names none. The variables are coerced. */
export function askedBlock(
  directive: GraphQLDirective,
  operation: OperationDefinitionNode,
  variables: Readonly<Record<string, unknown>>,
): AsOf | GraphQLError {
  const node = operation.directives?.find(isTheDirective);
  if (node === undefined) throw new Error("the operation is of the head");
  const values = getDirectiveValues(directive, operation, variables) ?? {};
  const [name, ...others] = NAMES.filter((one) => Object.hasOwn(values, one));
  if (name === undefined) {
    return badInput("@asOf names no block: give one of block, time and hash.", node);
  }
  if (others.length > 0) {
    const given = [name, ...others].join(" and ");
    return badInput(`@asOf has ${given}: give one of block, time and hash.`, node);
  }
  const value = values[name];
  const refused = (): GraphQLError => {
    // A text may be of any length.
    const shown = typeof value === "string" ? "" : `, not ${String(value)}`;
    return badInput(`"${name}" of @asOf must be ${ACCEPTED[name]}${shown}.`, node);
  };
  if (name === "block") {
    return typeof value === "number" && value >= 0 ? { block: value } : refused();
  }
  if (typeof value !== "string") return refused();
  // The scalar takes letters in either case, and one hour more than the database.
  if (name === "time")
    return /[+-]15/.test(value.slice(16)) ? refused() : { time: value.toUpperCase() };
  return /^0x[0-9a-fA-F]{64}$/.test(value) ? { hash: value } : refused();
}

export const AsOfDirectivePlugin: GraphileConfig.Plugin = {
  name: "AsOfDirectivePlugin",
  description: "Adds @asOf to the schema.",

  schema: {
    hooks: {
      GraphQLSchema(config, { graphql, getTypeByName, inflection }) {
        const Datetime = getTypeByName(inflection.builtin("Datetime"));
        if (!graphql.isInputType(Datetime)) throw new Error("the schema has no Datetime");
        const directives = config.directives ?? graphql.specifiedDirectives;
        return { ...config, directives: [...directives, makeDirective(Datetime)] };
      },
    },
  },
};
