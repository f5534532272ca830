// Checks the text of a number, a time or a cursor where the query is read. PostGraphile would hand
// any text to PostgreSQL, whose error the client is not shown.
import { GraphQLError, Kind, type GraphQLScalarTypeConfig, type ValueNode } from "graphql";

/** Turns what a client gave into the text for PostgreSQL, or undefined where it is none. */
type Reader = (given: unknown) => string | undefined;

const MAX_BIGINT = 2n ** 63n - 1n;

/** A JSON number has already lost the digits past the 15th that every binary double can hold. */
function exactText(given: unknown): string | undefined {
  if (typeof given === "string") return given;
  if (typeof given !== "number") return undefined;
  const text = String(given);
  return text.replace(/^-|\.|e.*$/g, "").length <= 15 ? text : undefined;
}

function readInteger(given: unknown): string | undefined {
  const text = exactText(given);
  if (text === undefined || !/^-?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value >= -MAX_BIGINT - 1n && value <= MAX_BIGINT ? text : undefined;
}

function readDecimal(given: unknown): string | undefined {
  const text = exactText(given);
  return text !== undefined &&
    /^-?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?$/i.test(text) &&
    text.length <= 200
    ? text
    : undefined;
}

const ISO_TIME =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(\.\d{1,6})?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i;

function readTime(given: unknown): string | undefined {
  const match = typeof given === "string" ? ISO_TIME.exec(given) : null;
  if (match === null) return undefined;
  const [, date = "", minutes = "00:00", seconds = "00", fraction = "", offset = "Z"] = match;
  // Date.parse rolls 30 February over; printed again, it would not be what was given.
  const parsed = new Date(`${date}T${minutes}:${seconds}Z`);
  if (Number.isNaN(parsed.getTime()) || !parsed.toISOString().startsWith(`${date}T${minutes}`)) {
    return undefined;
  }
  if (/^[+-](1[6-9]|[2-9]\d)/.test(offset)) return undefined;
  return `${date}T${minutes}:${seconds}${fraction}${offset}`;
}

function readCursor(given: unknown): string | undefined {
  if (typeof given !== "string") return undefined;
  try {
    return Array.isArray(JSON.parse(Buffer.from(given, "base64").toString("utf8")))
      ? given
      : undefined;
  } catch {
    return undefined;
  }
}

const SCALARS: Record<string, { read: Reader; accepted: string }> = {
  BigInt: { read: readInteger, accepted: "an integer of 64 bits, as a string" },
  BigFloat: {
    read: readDecimal,
    accepted: "a decimal number, as a string (a JSON number only up to 15 digits)",
  },
  Datetime: {
    read: readTime,
    accepted: 'a time in ISO 8601, for example "2018-06-19T14:00:43Z" (UTC without an offset)',
  },
  Cursor: { read: readCursor, accepted: "a cursor that this service gave" },
};

function literalValue(node: ValueNode): unknown {
  // The literal of a number is its text, with every digit that was written.
  return node.kind === Kind.STRING || node.kind === Kind.INT || node.kind === Kind.FLOAT
    ? node.value
    : undefined;
}

export const StrictScalarsPlugin: GraphileConfig.Plugin = {
  name: "StrictScalarsPlugin",
  version: "1.0.0",
  description: "Refuses text that is no number, time or cursor, and says what is accepted.",

  schema: {
    hooks: {
      GraphQLScalarType(config) {
        const scalar = SCALARS[config.name];
        if (scalar === undefined) return config;
        const readOrThrow = (given: unknown, nodes?: ValueNode): string => {
          const text = scalar.read(given);
          if (text !== undefined) return text;
          const shown = typeof given === "string" || typeof given === "number" ? given : "that";
          throw new GraphQLError(
            `${JSON.stringify(shown)} is not accepted as ${config.name}: expected ${scalar.accepted}.`,
            nodes && { nodes },
          );
        };
        const strict: GraphQLScalarTypeConfig<unknown, unknown> = {
          ...config,
          parseValue: (given) => readOrThrow(given),
          parseLiteral: (node) => readOrThrow(literalValue(node), node),
        };
        return strict;
      },
    },
  },
};
