// Parses what others have written up to the first thing in it that is wrong.
import { z } from "zod";

/** Zod lists all that is wrong, and some 3 kB and a millisecond for each of a million would end or hold up the process. */
export function parseInSteps<Schema extends z.ZodType>(
  schema: Schema,
  given: unknown,
): z.infer<Schema> {
  return inSteps(schema, given, []) as z.infer<Schema>;
}

/** Rows are parsed whole: they have a few columns. */
function inSteps(schema: unknown, given: unknown, path: readonly PropertyKey[]): unknown {
  if (schema instanceof z.ZodArray && Array.isArray(given)) {
    return given.map((one, n) => inSteps(schema.element, one, [...path, n]));
  }
  if (schema instanceof z.ZodObject && hasList(schema) && isObject(given)) {
    return Object.fromEntries(
      Object.entries(schema.shape).map(([name, part]) => [
        name,
        inSteps(part, given[name], [...path, name]),
      ]),
    );
  }
  const { data, error } = (schema as z.ZodType).safeParse(given);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new Error(
    `${[...path, ...(issue?.path ?? [])].map(String).join(".")}: ${issue?.message ?? ""}`,
  );
}

const hasList = (schema: unknown): boolean =>
  schema instanceof z.ZodArray ||
  (schema instanceof z.ZodObject && Object.values(schema.shape).some(hasList));

const isObject = (given: unknown): given is Record<string, unknown> =>
  typeof given === "object" && given !== null && !Array.isArray(given);
