// Gives a site's values as PostgreSQL has them: JSON, amounts of money, intervals, null ranges, and identifiers of objects.
import { Kind, type GraphQLScalarTypeConfig, type ValueNode } from "graphql";
import { inhibitOnNull } from "postgraphile/grafast";
import {
  listOfCodec,
  pgSelectFromRecords,
  TYPES,
  type PgCodec,
  type PgCodecAttribute,
  type PgCodecWithAttributes,
  type PgSelectSingleStep,
} from "postgraphile/@dataplan/pg";

type Converts = Pick<PgCodec, "fromPg" | "toPg">;

const baseOf = (codec: PgCodec): PgCodec =>
  codec.domainOfCodec == null ? codec : baseOf(codec.domainOfCodec as PgCodec);

const isJson = (codec: PgCodec): boolean => codec === TYPES.json || codec === TYPES.jsonb;

const sameText = (text: string): string => text;

const readInterval = TYPES.interval.fromPg;

/**
 * PostGraphile has -1.5 seconds as "-01.-500000", and -0.05 as "00.-50000", of which the sign is one of six places:
 * https://github.com/graphile/crystal/blob/main/grafast/dataplan-pg/src/codecs.ts.
 */
const readSigned = (text: string): unknown =>
  readInterval(
    text.replace(
      /_-?(\d+)\.-(\d+)$/,
      (_all, seconds: string, micros: string) => `_-${seconds}.${micros.padStart(6, "0")}`,
    ),
  );

/** PostGraphile has this of a null range, and would read it as one without bounds. */
const NO_RANGE = "[null, null, null, null]";

/** How values of the codec are read and written, where PostGraphile would lose some of them. */
function exact(codec: PgCodec): Converts | undefined {
  const base = baseOf(codec);
  const { arrayOfCodec: element, fromPg, toPg } = base;
  if (isJson(base)) return { fromPg: sameText, toPg: sameText };
  if (base === TYPES.interval) return { fromPg: readSigned, toPg };
  if (base.rangeOfCodec != null) {
    return { fromPg: (text) => (text === NO_RANGE ? null : (fromPg(text) as unknown)), toPg };
  }
  const ofElement = element && exact(element as PgCodec);
  return ofElement && listOfCodec({ ...(element as PgCodec), ...ofElement } as never, {});
}

function parseJson(given: unknown): string {
  const text = String(given);
  JSON.parse(text);
  return text;
}

/** A client's text is checked, and goes to PostgreSQL unchanged. */
const asText = (config: GraphQLScalarTypeConfig<unknown, unknown>): typeof config => ({
  ...config,
  serialize: (text) => text,
  parseValue: parseJson,
  parseLiteral: (node: ValueNode) =>
    node.kind === Kind.STRING ? parseJson(node.value) : undefined,
});

export const ExactValuesPlugin: GraphileConfig.Plugin = {
  name: "ExactValuesPlugin",
  description: "Loses nothing of the values of a site's own columns.",

  schema: {
    hooks: {
      GraphQLScalarType(config, build) {
        const codec = (Object.values(build.input.pgRegistry.pgCodecs) as PgCodec[]).find(
          (one) =>
            one.arrayOfCodec == null &&
            build.getGraphQLTypeNameByPgCodec(one, "output") === config.name,
        );
        const base = codec && baseOf(codec);
        if (base && isJson(base)) return asText(config);
        // Others have an Int's range, and half of the numbers are above it.
        return base === TYPES.oid ? { ...config, serialize: Number } : config;
      },

      GraphQLObjectType_fields_field(field, build, { scope: { pgFieldAttribute, pgCodec } }) {
        const attribute = pgFieldAttribute as PgCodecAttribute | undefined;
        const element = attribute?.codec.arrayOfCodec as PgCodecWithAttributes | undefined;
        const resource = element?.attributes && build.pgTableResource(element, false);
        const columns = Object.entries((pgCodec as PgCodec | undefined)?.attributes ?? {});
        const [column] = columns.find(([, one]) => one === attribute) ?? [];
        if (!resource || column === undefined) return field;
        // A null array would be an empty one.
        const plan = ($row: PgSelectSingleStep) => {
          const $list = inhibitOnNull($row.get(column));
          const $records = pgSelectFromRecords(resource, $list as never);
          $records.setTrusted();
          return $records;
        };
        return { ...field, plan: plan as never };
      },

      init: {
        before: ["PgCodecs"],
        callback(initialized, build) {
          const { inflection, input } = build;
          // It would be a Float.
          const decimal = inflection.builtin("BigFloat");
          build.setGraphQLTypeForPgCodec(TYPES.money, ["input", "output"], decimal);
          for (const codec of Object.values(input.pgRegistry.pgCodecs) as PgCodec[]) {
            const { fromPg, toPg } = exact(codec) ?? codec;
            Object.assign(codec, { fromPg, toPg });
          }
          return initialized;
        },
      },
    },
  },
};
