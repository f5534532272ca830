// Files that somebody writes, tests apart: no two have one name, and none has more than 300 lines.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const MAX_LINES = 300;
const TESTS = /(^|\/)test\//;
const GENERATED = /\.d\.ts$|^db\/migrations\/committed\//;
// Each package and each example is a project by itself, and the catalog's queries are named for PostgreSQL's kinds of objects.
const SEPARATE = /^(packages|examples|db\/check\/catalog)\//;

const files = execFileSync("git", ["ls-files", "*.ts", "*.js", "*.sql", "*.css", "*.sh"], {
  encoding: "utf8",
})
  .trim()
  .split("\n")
  .filter((file) => !TESTS.test(file) && !GENERATED.test(file));

it("no production file has more than 300 lines", () => {
  expect(files.length).toBeGreaterThan(350);
  const long = files.flatMap((file) => {
    const lines = readFileSync(file, "utf8").split("\n").length - 1;
    return lines > MAX_LINES ? [`${file}: ${lines}`] : [];
  });
  expect(long).toEqual([]);
});

it("no two production files have one name", () => {
  const byName = Map.groupBy(
    files.filter((file) => !SEPARATE.test(file)),
    (file) => basename(file),
  );
  const shared = [...byName.values()].filter((paths) => paths.length > 1);
  expect(shared).toEqual([]);
});

it("no production files import each other in a circle, nor their types", () => {
  const parts = files.filter((file) => !file.startsWith("bench/"));
  const imports = new Map(parts.map((file) => [file, importedBy(file)]));
  expect([...imports.values()].flat().length).toBeGreaterThan(1000);
  // What imports only files that are left out is in no circle.
  for (let left = Infinity; imports.size < left;) {
    left = imports.size;
    for (const [file, others] of imports) {
      if (!others.some((other) => imports.has(other))) imports.delete(file);
    }
  }
  expect([...imports.keys()]).toEqual([]);
});

function importedBy(file: string): string[] {
  const paths = readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...paths].map(([, path = ""]) => join(dirname(file), path));
}

it("a package imports only what its package.json names", () => {
  const imported = files
    .filter((file) => file.startsWith("packages/"))
    .flatMap((file) => {
      const [, folder = ""] = file.split("/");
      const { peerDependencies, dependencies } = JSON.parse(
        readFileSync(`packages/${folder}/package.json`, "utf8"),
      ) as { peerDependencies: Record<string, string>; dependencies?: unknown };
      expect(dependencies).toBeUndefined();
      const names = readFileSync(file, "utf8").matchAll(/\bfrom\s+"([^."][^"/]*)[^"]*"/g);
      return [...names].map(([, name = ""]) => [folder, name, name in peerDependencies] as const);
    });
  expect(imported.length).toBeGreaterThan(30);
  expect(imported.filter(([, name, isNamed]) => !isNamed && !name.startsWith("node:"))).toEqual([]);
});

it("the service is made of ten options at most", () => {
  const source = readFileSync("server/app-options.ts", "utf8");
  const [, options = ""] = /^export interface AppOptions \{\n(.*?)^\}/ms.exec(source) ?? [];
  expect(options.match(/^ {2}\w+\??:/gm)?.length).toBeGreaterThan(5);
  expect(options.match(/^ {2}\w+\??:/gm)?.length).toBeLessThanOrEqual(10);
});
