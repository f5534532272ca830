// Which release of the service this is.
import { readFileSync } from "node:fs";

/** The version in package.json. */
export function release(): string {
  const description = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(description) as { version: string }).version;
}
