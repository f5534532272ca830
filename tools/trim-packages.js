// Deletes what no program reads from the packages that `npm ci` has installed: a quarter of their bytes. Plain
// JavaScript, so that the Node of any npm can run it.
import { existsSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join, sep } from "node:path";
import { fileURLToPath, URL } from "node:url";

const PACKAGES = fileURLToPath(new URL("../node_modules", import.meta.url));

/** What only people, debuggers, editors and programs that are not used here read; the terms of licences stay. */
const UNREAD = [
  /\.(?:[cm]?[jt]s|css)\.map$/,
  /^(?!.*licen[cs]e).*\.md$/i,
  /^node-[^/]+\/include\//,
  /^swagger-ui-dist\/swagger-ui-es-bundle/,
  // Source maps of GraphiQL, and its files once more, for servers that serve a folder.
  /^ruru\/(?:static\/|dist\/bundleMeta)/,
  // For require(): all that imports these has modules.
  /^(?:viem|ox)\/_cjs\//,
  // Sources of what is compiled beside them.
  /^(?:viem|ox|zod)\/.*(?<!\.d)\.ts$/,
  // The compiler's messages in other languages, and Playwright's viewers of traces and reports.
  /^typescript\/lib\/[^/]+\/diagnosticMessages/,
  /^playwright-core\/lib\/vite\//,
];

if (existsSync(PACKAGES)) {
  for (const entry of readdirSync(PACKAGES, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    const name = path.slice(PACKAGES.length + 1).replaceAll(sep, "/");
    if (!entry.isFile() || !UNREAD.some((pattern) => pattern.test(name))) continue;
    // Node goes through the links of the workspaces: their files are not packages that were installed.
    if (realpathSync(path).startsWith(realpathSync(PACKAGES))) rmSync(path);
  }
}
