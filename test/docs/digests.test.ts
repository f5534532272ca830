// The worked example of docs/digests.md: its Python and the database give the digests that it prints.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { useDatabase } from "../served.ts";

const PAGE = readFileSync(new URL("../../docs/digests.md", import.meta.url), "utf8");

/** The first block of code of this language behind the heading of the example. */
function codeOf(language: string): string {
  const example = PAGE.slice(PAGE.indexOf("## A worked example"));
  const [, code] = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "m").exec(example) ?? [];
  if (code === undefined) throw new Error(`the example has no ${language}`);
  return code;
}

/** Behind the Python: a fence without a language also ends those before it. */
const printed = (): string => {
  const [, code] = /It prints[^]*?^```\n([^]*?)^```$/m.exec(PAGE) ?? [];
  if (code === undefined) throw new Error("the example prints nothing");
  return code;
};

const database = useDatabase((writer) => writer.query(codeOf("sql")));

function hasPython(): boolean {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    console.warn("The example of docs/digests.md is not run by Python: there is no python3.");
    return false;
  }
}

it("the database has recorded the digests that the page prints", async () => {
  const { rows } = await database.reader.query<{ digest: string }>(
    "select dex_block_digest(block) as digest from dex_block as block order by number",
  );
  expect(rows.map(({ digest }) => `${digest}\n`).join("")).toBe(printed());
});

(hasPython() ? it : it.skip)("the page's Python prints them", () => {
  const ran = execFileSync("python3", ["-c", codeOf("python")], { encoding: "utf8" });
  expect(ran).toBe(printed());
});
