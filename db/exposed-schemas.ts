// Parses EXPOSED_SCHEMAS: a site's own schemas that GraphQL shows in addition to `public`.

/** What the setting accepts, for error messages. */
export const EXPOSED_SCHEMAS_ACCEPTED = "names of your own schemas, separated by commas";

/** Schemas of PostgreSQL and of this service, and names that a wrong sign separates. */
const NOT_OWN = /^(public|dex_private|ingest|graphile_migrate|information_schema|pg_.*|.*;.*|)$/;

/** The names without duplicates. */
export function namesOfSchemas(text: string): string[] {
  return [...new Set(text.split(",").map((name) => name.trim()))];
}

/** Whether each may be the name of a site's own schema. */
export function areOwnSchemas(names: string[]): boolean {
  return !names.some((name) => NOT_OWN.test(name));
}

/** The names in EXPOSED_SCHEMAS, for a command. Throws, naming the setting, where one is not of a site's own schema. */
export function ownSchemas(given = ""): string[] {
  if (given.trim() === "") return [];
  const names = namesOfSchemas(given);
  if (areOwnSchemas(names)) return names;
  throw new Error(`EXPOSED_SCHEMAS: ${JSON.stringify(given)} is not ${EXPOSED_SCHEMAS_ACCEPTED}.`);
}
