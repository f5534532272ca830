// A trial of a proof overwrites no committed page, and its page has the time to a tenth of a minute.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inMinutes, writePage } from "./proof-page.ts";

it.each([
  ["test/prove.ts", "test/proved.md"],
  ["test/prove-past.ts", "test/proved-past.md"],
  ["test/chain/prove.ts", "test/chain/proved.md"],
  ["test/market/live/prove.ts", "test/market/live/proved.md"],
])(
  "%s names the option for where its page goes",
  async (program, page) => {
    const { stdout } = await promisify(execFile)("node", [program, "--help"]);
    expect(stdout).toContain(`--out FILE     where the result goes, default ${page}\n`);
  },
  60_000,
);

it("writes the page there", async () => {
  jest.spyOn(console, "log").mockImplementation();
  const folder = await mkdtemp(join(tmpdir(), "proof-"));
  try {
    await writePage(join(folder, "proved.md"), "# What was proved\n");
    expect(await readFile(join(folder, "proved.md"), "utf8")).toBe("# What was proved\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});

it.each([
  [1000, "in 0.0 minutes"],
  [25_000, "in 0.4 minutes"],
  [60_000, "in 1.0 minutes"],
])("says how long it took: %d ms are %s", (ms, text) => expect(inMinutes(0, ms)).toBe(text));
