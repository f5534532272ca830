// What clients and operators rely on stays as it was in the last release, unless the changelog names what changed.
import { readFileSync } from "node:fs";
import { useDatabase } from "../served.ts";
import { brokenLines, brokenSdl, unnamed, type Change } from "./contract/breaking.ts";
import { currentLines, currentSdl, openapi, withoutDescriptions } from "./contract/current.ts";
import { readContract, releases, writeContract, type Contract } from "./contract/kept.ts";
import { restLines } from "./contract/rest-lines.ts";

const page = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const changelog = page("CHANGELOG.md");
const [, unreleased = ""] = /^## Unreleased\n([^]*?)(?=^## |(?![^]))/m.exec(changelog) ?? [];

const database = useDatabase();
let current: Contract;
beforeAll(async () => {
  current = { sdl: currentSdl(), lines: await currentLines(database.owner) };
  if (process.env["WRITE_CONTRACT"] !== undefined) writeContract(current, changelog);
});

const broken = (before: Contract, after: Contract): Change[] => [
  ...brokenSdl(before.sdl, after.sdl),
  ...Object.entries(before.lines).flatMap(([file, lines]) =>
    brokenLines(lines, after.lines[file] ?? []),
  ),
];

it("breaks nothing of the last release that the changelog does not name", () => {
  const last = releases().at(-1)!;
  expect(unnamed(broken(readContract(last), current), unreleased)).toEqual([]);
});

it("has each part of the contract, and docs/versions.md names its file", () => {
  const { sdl, lines } = readContract("1.0");
  expect(sdl).toContain("type DexTrade ");
  const counts = { rest: 600, settings: 50, metrics: 30, files: 35, ingest: 8 };
  expect(Object.keys(lines).sort()).toEqual(Object.keys(counts).sort());
  for (const [file, least] of Object.entries(counts)) {
    expect([file, lines[file]!.length >= least]).toEqual([file, true]);
    expect(page("docs/versions.md")).toContain(`\`${file}.txt\``);
  }
});

describe("is found, and refused until the changelog names it:", () => {
  const sdl = (change: (text: string) => string): Change[] =>
    brokenSdl(current.sdl, withoutDescriptions(change(current.sdl)));
  const rest = (change: (document: ReturnType<typeof openapi>) => void): Change[] => {
    const document = openapi();
    change(document);
    return brokenLines(current.lines["rest"]!, restLines(document));
  };
  const lines = (file: string, change: (line: string) => string | undefined): Change[] =>
    brokenLines(
      current.lines[file]!,
      current.lines[file]!.flatMap((line) => change(line) ?? []),
    );

  const TRADES = "/v2/trades/{base}/{quote}";
  const CHANGES: [string, () => Change[], string[]][] = [
    [
      "a field of GraphQL that is gone",
      () => sdl((text) => text.replace(/^ {2}lotTkn: String$/gm, "")),
      ["DexOffer.lotTkn", "DexTrade.lotTkn"],
    ],
    [
      "a field of GraphQL of another type",
      () => sdl((text) => text.replace(/(type DexHead [^}]*block: )Int!?/, "$1String")),
      ["DexHead.block"],
    ],
    [
      "a path that is gone",
      () => rest(({ paths }) => Reflect.deleteProperty(paths, TRADES)),
      [TRADES],
    ],
    [
      "a parameter that must be given",
      () => rest(({ paths }) => paths[TRADES]!.get.parameters!.push(MUST)),
      [TRADES, "key"],
    ],
    [
      "a field of an answer that is gone",
      () => rest(({ components }) => delete components.schemas["Trade"]!.properties!["volume"]),
      ["Trade.volume"],
    ],
    [
      "a field of an answer of another type",
      () => rest(({ components }) => (components.schemas["Trade"]!.properties!["id"] = STRING)),
      ["Trade.id"],
    ],
    [
      "a setting with another default",
      () => lines("settings", (line) => line.replace("RATE_LIMIT: 6000", "RATE_LIMIT: 600")),
      ["RATE_LIMIT"],
    ],
    [
      "a metric that is gone",
      () => lines("metrics", (line) => (line === "dex_head_block" ? undefined : line)),
      ["dex_head_block"],
    ],
    [
      "a function of ingest that takes something else",
      () => lines("ingest", (line) => line.replace("take_back(", "take_back(count integer, ")),
      ["ingest.take_back"],
    ],
    [
      "a column of a file that must be given",
      () => lines("files", (line) => line.replace("idx: optional", "idx: required, must be given")),
      ["trades.csv idx"],
    ],
  ];
  const STRING = { type: "string" };
  const MUST = { name: "key", in: "query", required: true, schema: STRING };

  it.each(CHANGES)("%s", (_, change, names) => {
    const changes = change();
    expect(changes).not.toEqual([]);
    const refused = unnamed(changes, unreleased);
    expect(refused).toHaveLength(changes.length);
    for (const name of names) expect(refused.join("\n")).toContain(`\`${name}`);
    const named = changes.flatMap((one) => one.names).map((name) => `\`${name}\``);
    expect(unnamed(changes, named.join(" "))).toEqual([]);
  });
});

it("may grow: a field, a path and a setting that are new are no change of the contract", () => {
  const more = current.sdl.replace(/^type DexHead \{$/m, "type DexHead {\n  more: String");
  expect(more).not.toBe(current.sdl);
  expect(brokenSdl(current.sdl, more)).toEqual([]);
  for (const lines of Object.values(current.lines)) {
    expect(brokenLines(lines.slice(1), lines).filter((change) => !isGiven(change))).toEqual([]);
  }
});

const isGiven = ({ description }: Change): boolean => description.includes("must be given` is new");
