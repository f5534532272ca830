// Refuses a cursor with values of other types than those of its order. PostgreSQL's error for it would
// abort the operation's transaction, and its other fields with it.
import { isScalarType } from "graphql";
import { TYPES, type PgCodec, type PgResource } from "postgraphile/@dataplan/pg";
import type { OrderNames } from "./served-orders.ts";
import { totalKey } from "./total-key.ts";

type Accepts = (value: unknown) => boolean;

const isRowNumber: Accepts = (value) => Number.isSafeInteger(value) && Number(value) > 0;

const NOT_FINITE = /^(NaN|-?Infinity)$/;
const TIME =
  /^(-?infinity|\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?([+-]\d\d(:\d\d){0,2})?( BC)?)$/;

/** PostgreSQL's texts of values that GraphQL's type refuses as input, or gives otherwise. */
const AS_TEXT = new Map<PgCodec, RegExp>([
  [TYPES.float4, NOT_FINITE],
  [TYPES.float, NOT_FINITE],
  [TYPES.numeric, /^(NaN|-?Infinity|-?\d+(\.\d+)?)$/],
  // It has the sign of its currency, on either side.
  [TYPES.money, /\d/],
  [TYPES.timestamp, TIME],
  [TYPES.timestamptz, TIME],
  [TYPES.oid, /^\d{1,10}$/],
]);

/** Undefined if the cursor is no list in base64. */
function decoded(cursor: string): readonly unknown[] | undefined {
  try {
    const given: unknown = JSON.parse(Buffer.from(cursor, "base64").toString());
    return Array.isArray(given) ? given : undefined;
  } catch {
    return undefined;
  }
}

/** Why a cursor is refused that has this in it: the end of a message that begins with the argument. */
export type RefusedCursor = (cursor: readonly unknown[]) => string | undefined;

/** The client's error message for a cursor that this service cannot have given for this order. */
export function cursorProblem(
  build: GraphileBuild.Build,
  resource: PgResource,
  names: OrderNames,
  orderBy: readonly string[],
  cursors: { after?: string | null; before?: string | null },
  refused?: RefusedCursor,
): string | undefined {
  const requested = orderBy.filter((name) => name !== "NATURAL");
  const isOwn = requested.every((name) => names.has(name));
  const columns = requested.flatMap((name) => names.get(name)?.map(({ column }) => column) ?? []);
  for (const argument of ["after", "before"] as const) {
    const cursor = cursors[argument];
    if (cursor == null) continue;
    const given = decoded(cursor);
    // PostGraphile refuses it.
    if (given === undefined) continue;
    const reason = refused?.(given);
    if (reason !== undefined) return `Argument "${argument}" ${reason}`;
    // An order of the site's own.
    if (!isOwn) continue;
    const [digest, ...values] = given;
    // The rows of a function are numbered.
    const accepted = digest === "natural" ? [isRowNumber] : acceptedIn(build, resource, columns);
    // PostGraphile refuses another digest or number of values.
    if (values.length > accepted.length || values.every((value, n) => accepted[n]?.(value)))
      continue;
    return `Argument "${argument}" is not a cursor that this service gave for this order.`;
  }
  return undefined;
}

const given = (codec: PgCodec): RegExp | undefined =>
  AS_TEXT.get(codec) ?? (codec.domainOfCodec ? given(codec.domainOfCodec as PgCodec) : undefined);

/** Accepts each value of a cursor; cursors.ts makes the order. */
function acceptedIn(
  build: GraphileBuild.Build,
  resource: PgResource,
  columns: readonly string[],
): Accepts[] {
  const { codec, extensions } = resource;
  const served = extensions?.servedOrders?.find((one) => one.requested.join() === columns.join());
  const ordered = served?.columns ?? [...columns, ...(totalKey(resource) ?? [])];
  return ordered.flatMap((column) => {
    const attribute = codec.attributes?.[column];
    const type = attribute && build.getGraphQLTypeByPgCodec(attribute.codec, "input");
    const hasNulls = served === undefined && attribute?.notNull !== true;
    const accepts: Accepts = (value) => {
      if (value === null) return hasNulls;
      if (typeof value === "string" && value.includes("\0")) return false;
      const isText = typeof value === "string" || typeof value === "number";
      if (isText && attribute && given(attribute.codec)?.test(String(value))) return true;
      try {
        return !isScalarType(type) || type.parseValue(value) !== undefined;
      } catch {
        return false;
      }
    };
    return hasNulls ? [(value) => typeof value === "boolean", accepts] : [accepts];
  });
}
