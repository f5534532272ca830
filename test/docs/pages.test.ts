// The pages lead on: every link resolves, the README is short and links to every page of docs/, and the
// table of GraphQL's errors has every code that the service gives.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

/** Sorted; what was installed, or is hidden, is not of the repository. */
const files = (pattern: string): string[] =>
  globSync(pattern, {
    cwd: REPOSITORY,
    exclude: (name) => /(^|\/)(node_modules|\.[^/]+)$/.test(name),
  }).sort();

/** As GitHub makes them. */
const anchorsOf = (path: string): string[] =>
  [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

const linksOf = (path: string): string[] =>
  [...read(path).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link));

it.each(files("**/*.md"))("every link of %s resolves", (path) => {
  const broken = linksOf(path).filter((link) => {
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? path : join(dirname(path), file);
    if (!existsSync(join(REPOSITORY, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});

it("keeps the README within 250 lines, with a link to each page of docs/", () => {
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(251);
  expect(linksOf("README.md")).toEqual(expect.arrayContaining(files("docs/*.md")));
});

it("has every code of a GraphQL error in docs/graphql.md, and no other", () => {
  const given = files("server/**/*.ts").flatMap((path) => [
    ...[...read(path).matchAll(/code: "([A-Z]+(?:_[A-Z]+)*)"/g)].map(([, code]) => code),
    ...(/(http\/errors|limit-error)\.ts$/.test(path)
      ? [...read(path).matchAll(/"([A-Z]+(?:_[A-Z]+)+|[A-Z]{6,})"/g)].map(([, code]) => code)
      : []),
  ]);
  const table = read("docs/graphql.md").split("## Errors")[1] ?? "";
  const documented = table
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`([A-Z_]+)`/g)])
    .map(([, code]) => code);
  expect([...new Set(documented)].sort()).toEqual([...new Set(given)].sort());
});
