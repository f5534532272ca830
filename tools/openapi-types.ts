// Writes the TypeScript types of the OpenAPI document, by which the market pages and an example are checked.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { installPackages } from "./install-packages.ts";

const DOCUMENT = "rest/openapi/openapi.json";
const TYPES = "rest/openapi/market-data.d.ts";

/** When a file was last written, in milliseconds since 1970; 0 where it is not there. */
const changed = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
// The types are not tracked: they say nothing that the document does not.
if (changed(TYPES) < changed(DOCUMENT)) {
  installPackages("tools/openapi");
  const program = "tools/openapi/node_modules/openapi-typescript/bin/cli.js";
  const { status } = spawnSync("node", [program, DOCUMENT, "-o", TYPES], { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
