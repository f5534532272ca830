// Gives a site's values all their digits: numbers within JSON, amounts of money, and identifiers of objects.
import { listOfCodec, TYPES, type PgCodec } from "postgraphile/@dataplan/pg";
import { isRounded, mayBeRounded } from "../exact-json.ts";

/** TypeScript's types do not have it yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

type Revive = (name: string, value: unknown, context?: { source?: string }) => unknown;

const withAllDigits: Revive = (_name, value, { source = "" } = {}) =>
  typeof value === "number" && isRounded(source) ? rawJSON(source) : value;

/** A number that a double would round goes into the answer as PostgreSQL has it. */
const readJson = (text: string): unknown =>
  mayBeRounded(text) ? JSON.parse(text, withAllDigits) : JSON.parse(text);

type JsonCodec = typeof TYPES.json;

const isJson = (codec: PgCodec): boolean =>
  codec === TYPES.json ||
  codec === TYPES.jsonb ||
  (codec.domainOfCodec != null && isJson(codec.domainOfCodec as PgCodec));

export const ExactValuesPlugin: GraphileConfig.Plugin = {
  name: "ExactValuesPlugin",
  description: "Rounds no number of a site's own columns.",

  schema: {
    hooks: {
      GraphQLScalarType(config, { inflection }) {
        // Others have an Int's range, and half of the numbers are above it.
        const isOid = config.name === inflection.builtin("Oid");
        return isOid ? { ...config, serialize: Number } : config;
      },

      init: {
        before: ["PgCodecs"],
        callback(initialized, build) {
          const { inflection, input } = build;
          // It would be a Float.
          const decimal = inflection.builtin("BigFloat");
          build.setGraphQLTypeForPgCodec(TYPES.money, ["input", "output"], decimal);
          for (const codec of Object.values(input.pgRegistry.pgCodecs) as PgCodec[]) {
            const { arrayOfCodec: element } = codec as { arrayOfCodec?: JsonCodec };
            if (isJson(codec)) codec.fromPg = readJson;
            if (element === undefined || !isJson(element)) continue;
            codec.fromPg = listOfCodec({ ...element, fromPg: readJson }, {}).fromPg;
          }
          return initialized;
        },
      },
    },
  },
};
