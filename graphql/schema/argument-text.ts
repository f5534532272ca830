// Describes the arguments of SQL functions, from the tags @argument of their comments.
import type { PgResource } from "postgraphile/@dataplan/pg";

/** PostGraphile does not say which function a field without rows or pages calls. */
export const functionNamed = (build: GraphileBuild.Build, name: string): PgResource | undefined =>
  Object.values(build.input.pgRegistry.pgResources).find(
    ({ parameters, extensions }) => parameters !== undefined && extensions?.tags?.name === name,
  ) as PgResource | undefined;

/** Reads the description of a function's argument from its tag `@argument depth How many levels.` */
export function argumentText(
  resource: PgResource | undefined,
  argName: string,
): string | undefined {
  if (resource?.parameters === undefined) return undefined;
  return [resource.extensions?.tags?.["argument"] ?? []]
    .flat()
    .map(String)
    .find((text) => text.startsWith(`${argName} `))
    ?.slice(argName.length + 1);
}
