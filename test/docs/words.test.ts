// Pages and code use standard words; the private ones that they replaced do not come back.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const WORDS =
  /\b(tells?|told|telling|amiss|befell|hears|to be had|as it stands|the long way|who comes meanwhile|the door|the house|of (its|their|your|one's) own(?! [a-z]))\b/i;

/** Words of pages and code with a standard one for each, or one meaning alone. */
const ONE_MEANING: { words: RegExp; allowed: RegExp }[] = [
  // The account of Debian that has no rights.
  { words: /\bnobody\b/i, allowed: /`nobody`|"nobody"/ },
  { words: /\b(meanwhile|usual)\b/i, allowed: /^$/ },
  // min, max and default.
  { words: /\b(MOST|LEAST)(_[A-Z]|\b)|\b(most|least)[A-Z]/, allowed: /^$/ },
  // The open offers of the book.
  {
    words: /standing/i,
    allowed: /^(db|test\/db\/releases|test\/chain\/contracts|docs\/schema\.md|\.ci)/,
  },
];

/** The quoted title of a test or of a group of tests. */
const TITLE =
  /\b(?:it|test|describe)(?:\.\w+)?\(\s*("[^"\n]*"|`[^`]*`)|\)\(\s*("[^"\n]*"|`[^`]*`), \w*/g;
const TITLE_WORDS = new RegExp(
  `${WORDS.source}|\\b(nobody|meanwhile|of its own|of their own)\\b`,
  "i",
);

const WRITTEN =
  "md ts tsx js sql css sh yml yaml graphql html py sol cfg conf ini env Dockerfile run".split(" ");
const tracked = execFileSync("git", ["ls-files", ...WRITTEN.map((end) => `*${end}`)], {
  encoding: "utf8",
})
  .trim()
  .split("\n");
const isTest = (file: string): boolean => /(^|\/)(test|bench)\/.*\.ts$/.test(file);

it("no page and no code has a private word for a standard one", () => {
  const files = tracked.filter((file) => !isTest(file));
  expect(files.length).toBeGreaterThan(400);
  const found = files.flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line, at) => {
        const place = `${file}:${at + 1}: ${line}`;
        const isPrivate =
          WORDS.test(line) ||
          ONE_MEANING.some(
            ({ words, allowed }) => words.test(line) && !allowed.test(line) && !allowed.test(file),
          );
        return isPrivate ? [place] : [];
      }),
  );
  expect(found).toEqual([]);
});

it("no title of a test has one either", () => {
  const titles = tracked
    .filter(isTest)
    .flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(TITLE)].map(([, one, other]) => [file, one ?? other]),
    );
  expect(titles.length).toBeGreaterThan(1500);
  expect(titles.filter(([, title]) => TITLE_WORDS.test(title ?? ""))).toEqual([]);
});
