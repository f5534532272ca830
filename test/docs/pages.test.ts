// The pages lead on: every link resolves, the README is short and links to every page of docs/, and the
// table of GraphQL's errors has every code that the service gives.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROGRAMS } from "../../tools/programs.ts";

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

it("names only scripts and programs that exist, in pages and in code", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const named = [
    "README.md",
    "CONTRIBUTING.md",
    ...files(
      "{bench,chain,db,docs,graphql,http,market,page,rest,server,test,tools}/**/*.{md,ts,js}",
    ),
  ].flatMap((path) =>
    [
      ...read(path).matchAll(/npm run ([a-z:]+[a-z])(?:\\?`)?(?: -- ([a-z-]+)(?: ([a-z-]+))?)?/g),
    ].map(([, script = "", name, after = ""]) => ({ path, script, name, after })),
  );
  expect(named.length).toBeGreaterThan(100);
  const unknown = named.filter(({ script, name, after }) => {
    const programs = PROGRAMS[script];
    if (programs === undefined || name === undefined) return !(script in scripts);
    // One name: a second one would be an argument that the program refuses.
    return !name.startsWith("-") && (!(name in programs) || after in programs);
  });
  expect(unknown).toEqual([]);
  expect(Object.keys(scripts).length).toBeLessThanOrEqual(30);
  for (const program of Object.values(PROGRAMS).flatMap((programs) => Object.values(programs))) {
    const missing = program.command.filter(
      (word) => /^[a-z].*(?<!\.d)\.ts$/.test(word) && !existsSync(join(REPOSITORY, word)),
    );
    expect(missing).toEqual([]);
  }
});

it("keeps the README within 200 lines, with a link to each page of docs/", () => {
  expect(read("README.md").split("\n").length).toBeLessThanOrEqual(201);
  expect(linksOf("README.md")).toEqual(expect.arrayContaining(files("docs/*.md")));
});

it("names no file in CONTRIBUTING.md that is not there", () => {
  const paths = [
    ...read("CONTRIBUTING.md").matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:[jt]s|sql|md))`/g),
  ];
  expect(paths.length).toBeGreaterThan(70);
  expect(
    paths.map(([, path]) => path!).filter((path) => !existsSync(join(REPOSITORY, path))),
  ).toEqual([]);
});

it("has every code of a GraphQL error in docs/graphql.md, and no other", () => {
  const given = files("{graphql,http,server}/**/*.ts").flatMap((path) => [
    ...[...read(path).matchAll(/code: "([A-Z]+(?:_[A-Z]+)*)"/g)].map(([, code]) => code),
    ...(/(?:^http\/errors|(?:limit|persisted)-errors?)\.ts$/.test(path)
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
