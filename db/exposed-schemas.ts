// What EXPOSED_SCHEMAS says: the schemas of a site's own that GraphQL shows beside `public`.

/** What it takes, for whoever has given something else. */
export const EXPOSED_SCHEMAS_ACCEPTED = "names of schemas of your own, separated by commas";

/** PostgreSQL's schemas, and this service's. */
const NOT_OWN = /^(public|dex_private|ingest|graphile_migrate|information_schema|pg_.*|)$/;

/** The names in it, each once. */
export function namesOfSchemas(text: string): string[] {
  return [...new Set(text.split(",").map((name) => name.trim()))];
}

/** Whether all of these can be a site's own. */
export function areOwnSchemas(names: string[]): boolean {
  return !names.some((name) => NOT_OWN.test(name));
}
