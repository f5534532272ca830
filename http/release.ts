// The version of the service, from the one place that has it.
import { readFileSync } from "node:fs";

export function release(): string {
  const description = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(description) as { version: string }).version;
}
