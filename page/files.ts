// Serves the files of the pages: their own modules and style, and the libraries from node_modules.
import { Router } from "express";
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import { serveReleaseFile } from "../http/release-files.ts";

const CLIENT = join(import.meta.dirname, "client");

const TYPES: Record<string, string> = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

const { resolve } = createRequire(import.meta.url);

// Not each package exports its build for browsers, or its package.json.
const LIBRARIES: Record<string, string> = {
  "preact.js": resolve("preact"),
  "htm.js": join(dirname(resolve("htm")), "htm.module.js"),
  // The build without imports.
  "lightweight-charts.js": join(
    dirname(resolve("lightweight-charts/package.json")),
    "dist/lightweight-charts.standalone.production.mjs",
  ),
};

const OWN = readdirSync(CLIENT).filter((name) => extname(name) in TYPES);

const FILES = {
  ...Object.fromEntries(OWN.map((name) => [name, join(CLIENT, name)])),
  ...LIBRARIES,
};

/** A module and what it imports at once: a browser asks for a module only when it has read one that imports it. */
export function modulesOf(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  if (!OWN.includes(`${name}.js`)) return found;
  const text = readFileSync(join(CLIENT, `${name}.js`), "utf8");
  for (const [, imported = ""] of text.matchAll(/ from "(?:\.\/)?([\w-]+)(?:\.js)?";$/gm)) {
    modulesOf(imported, found);
  }
  return found;
}

/** A browser resolves the names of packages by an import map only, which is an inline script. */
const forBrowsers = (module: string): string =>
  module
    .replace(/(from ?)"(preact|htm|lightweight-charts)"/g, '$1"/page/$2.js"')
    .replace(/^\/\/# sourceMappingURL=.*$/m, "");

export function pageFilesRouter(): Router {
  const router = Router({ caseSensitive: true });
  for (const [name, file] of Object.entries(FILES)) {
    serveReleaseFile(router, `/page/${name}`, {
      type: TYPES[extname(name)] ?? "",
      read: async () => {
        const text = await readFile(file, "utf8");
        return name.endsWith(".js") ? forBrowsers(text) : text;
      },
    });
  }
  return router;
}
