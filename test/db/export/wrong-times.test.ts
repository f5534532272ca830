// Blocks whose times cannot be right: no day is exported then, and no list of days gets long.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportDays } from "../../../db/export/export-days.ts";
import { readManifest } from "../../../db/export/manifest.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";

const NOW = Date.parse("2026-01-05T12:00:00Z");

let dir: string;
let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
  jest.spyOn(Date, "now").mockReturnValue(NOW);
});
afterAll(async () => {
  jest.restoreAllMocks();
  await database.drop();
});
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "dex-wrong-times-"));
  await database.empty();
});
afterEach(() => rm(dir, { recursive: true }));

const exportFinal = () => exportDays({ url: database.url, dir, finality: 0 });

/** Of a cancellation, or without rows. */
const write = (number: number, at: string, killed: number[] = [number]): Promise<unknown> =>
  database.writer.query("select ingest.write_block($1, $2, killed => $3)", [number, at, killed]);

const listed = async (): Promise<unknown[]> =>
  ((await readManifest(dir))?.days ?? []).map(({ day, lastBlock }) => [day, lastBlock]);

it.each(["2026-01-07T00:00:00Z", "2031-12-30T00:00:00Z", "9999-12-30T00:00:00Z"])(
  "refuses to export while a block of %s is final, and goes on when it is taken back",
  async (at) => {
    await write(1, "2026-01-02T10:00:00Z");
    await write(2, "2026-01-04T10:00:00Z");
    await write(3, at, []);
    await expect(exportFinal()).rejects.toThrow(
      `block 3 is final, and of ${at.split("T")[0]}, later than tomorrow by the clock of this machine: set the clock, or take back the blocks of wrong times by \`set role dex_writer; select ingest.take_back(N)\`, N being the last block of a right one`,
    );
    expect((await readdir(dir)).filter((name) => !name.startsWith("lock"))).toEqual([]);
    await database.writer.query("select ingest.take_back(2)");
    await exportFinal();
    expect(await listed()).toEqual([
      ["2026-01-02", 1],
      ["2026-01-03", null],
    ]);
  },
);

it("refuses to export blocks from before 1970, when no chain has any", async () => {
  await write(1, "0001-01-01T10:00:00Z");
  await write(2, "2026-01-02T10:00:00Z");
  await expect(exportFinal()).rejects.toThrow(
    "there is a block of 0001-01-01, and no chain has one from before 1970: take back the blocks of wrong times",
  );
  expect(await listed()).toEqual([]);
});

it("exports no day that is not over by the clock of this machine", async () => {
  await write(1, "2026-01-04T10:00:00Z");
  await write(2, "2026-01-05T10:00:00Z");
  await write(3, "2026-01-06T00:00:01Z");
  await exportFinal();
  expect(await listed()).toEqual([["2026-01-04", 1]]);
});
