// Deletes what no program reads from the packages that `npm ci` has installed: a quarter of their bytes. Plain
// JavaScript, so that the Node of any npm can run it.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath, URL } from "node:url";

const PACKAGES = fileURLToPath(new URL("../node_modules", import.meta.url));

/** Source maps, which only debuggers read; Node's C headers; builds of Swagger UI that no page loads. */
const UNREAD = [
  /\.(?:[cm]?js|css|ts)\.map$/,
  /^node-[^/]+\/include\//,
  /^swagger-ui-dist\/swagger-ui-es-bundle/,
];

if (existsSync(PACKAGES)) {
  for (const entry of readdirSync(PACKAGES, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const name = path.slice(PACKAGES.length + 1).replaceAll(sep, "/");
    if (entry.isFile() && UNREAD.some((pattern) => pattern.test(name))) rmSync(path);
  }
}
