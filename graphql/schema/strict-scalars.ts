// Validates numbers, times and cursors when the query is parsed. PostGraphile passes any text to
// PostgreSQL, and masks its error.
import { GraphQLError, Kind, print, type GraphQLScalarTypeConfig, type ValueNode } from "graphql";

/** Converts a client's value to text for PostgreSQL; undefined if the value is invalid. */
type Parser = (given: unknown) => string | undefined;

const MAX_BIGINT = 2n ** 63n - 1n;

/** A number has all its digits here: one that a double would round comes as text. */
function exactText(given: unknown): string | undefined {
  if (typeof given === "string") return given;
  return Number.isFinite(given) ? String(given) : undefined;
}

function parseInteger(given: unknown): string | undefined {
  const text = exactText(given);
  if (text === undefined || !/^-?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value >= -MAX_BIGINT - 1n && value <= MAX_BIGINT ? text : undefined;
}

function parseObjectId(given: unknown): string | undefined {
  const text = parseInteger(given);
  return text !== undefined && Number(text) >= 0 && Number(text) < 2 ** 32 ? text : undefined;
}

function parseDecimal(given: unknown): string | undefined {
  const text = exactText(given);
  return text !== undefined &&
    /^-?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i.test(text) &&
    text.length <= 200
    ? text
    : undefined;
}

const ISO_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(\.\d{1,6})?)?(Z|[+-]\d{2}(?::?[0-5]\d)?)?)?$/i;

function parseTime(given: unknown): string | undefined {
  const match = typeof given === "string" ? ISO_TIME.exec(given) : null;
  if (match === null) return undefined;
  const [, date = "", minutes = "00:00", seconds = "00", fraction = "", offset = "Z"] = match;
  // Date turns 30 February into 1 March: compare the printed date with the given one.
  const parsed = new Date(`${date}T${minutes}:${seconds}Z`);
  // The calendar of PostgreSQL has no year 0.
  if (date.startsWith("0000")) return undefined;
  if (Number.isNaN(parsed.getTime()) || !parsed.toISOString().startsWith(`${date}T${minutes}`)) {
    return undefined;
  }
  if (/^[+-](1[6-9]|[2-9]\d)/.test(offset)) return undefined;
  return `${date}T${minutes}:${seconds}${fraction}${offset}`;
}

function parseCursor(given: unknown): string | undefined {
  if (typeof given !== "string") return undefined;
  try {
    return Array.isArray(JSON.parse(Buffer.from(given, "base64").toString("utf8")))
      ? given
      : undefined;
  } catch {
    return undefined;
  }
}

const SCALARS: Record<string, { parse: Parser; accepted: string }> = {
  BigInt: { parse: parseInteger, accepted: "an integer of 64 bits, as a string" },
  BigFloat: {
    parse: parseDecimal,
    accepted: "a decimal number, as a string or a JSON number",
  },
  Datetime: {
    parse: parseTime,
    accepted:
      'a time from year 1 to 9999 in ISO 8601, for example "2018-06-19T14:00:43Z" (UTC without an offset)',
  },
  Oid: { parse: parseObjectId, accepted: "an integer from 0 to 4294967295" },
  Cursor: { parse: parseCursor, accepted: "a cursor that this service gave" },
};

function literalValue(node: ValueNode): unknown {
  // The value of a number literal is its text, with all digits.
  return node.kind === Kind.STRING || node.kind === Kind.INT || node.kind === Kind.FLOAT
    ? node.value
    : undefined;
}

/** How a message names a value. A list or an object may be of any size and depth. */
function shownValue(given: unknown, node: ValueNode | undefined): string {
  if (Array.isArray(given) || node?.kind === Kind.LIST) return "A list";
  if ((typeof given === "object" && given !== null) || node?.kind === Kind.OBJECT)
    return "An object";
  return given === undefined && node ? print(node) : JSON.stringify(given);
}

export const StrictScalarsPlugin: GraphileConfig.Plugin = {
  name: "StrictScalarsPlugin",
  description: "Rejects invalid numbers, times and cursors, and names the accepted format.",

  schema: {
    hooks: {
      GraphQLScalarType(config) {
        const scalar = SCALARS[config.name];
        if (scalar === undefined) return config;
        const parseOrThrow = (given: unknown, nodes?: ValueNode): string => {
          const text = scalar.parse(given);
          if (text !== undefined) return text;
          throw new GraphQLError(
            `${shownValue(given, nodes)} is not accepted as ${config.name}: expected ${scalar.accepted}.`,
            nodes && { nodes },
          );
        };
        const strict: GraphQLScalarTypeConfig<unknown, unknown> = {
          ...config,
          parseValue: (given) => parseOrThrow(given),
          parseLiteral: (node) => parseOrThrow(literalValue(node), node),
        };
        return strict;
      },
    },
  },
};
