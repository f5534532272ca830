// No files are exported into the folder of a database, by whatever path it is named.
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { takeLock } from "../../../db/embedded/lock.ts";
import { writeConnection } from "../../../db/embedded/connection-file.ts";
import { exportDays } from "../../../db/export/export-days.ts";
import { makeFilesDir } from "../../../server/exporting.ts";
import { aTrade, write } from "../../factories.ts";
import { useDatabase } from "../../served.ts";

const database = useDatabase((writer) =>
  write(writer, { trades: [1, 49].map((hour) => aTrade({ hour, offer_id: null })) }),
);

/** As an embedded database has it. */
let dataDir: string;
let release: () => Promise<void>;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "dex-data-dir-"));
  const ofNone = { host: "127.0.0.1", port: 1, user: "", password: "", database: "", shadow: "" };
  await writeConnection(dataDir, ofNone);
  await mkdir(join(dataDir, "postgres", "base"), { recursive: true });
  await writeFile(join(dataDir, "postgres", "PG_VERSION"), "17\n");
  await symlink(join(dataDir, "postgres"), join(dataDir, "link"));
  release = await takeLock(dataDir);
});
afterEach(async () => {
  await release();
  await rm(dataDir, { recursive: true });
});

it.each([".", "postgres", "postgres/base", "postgres/base/files", "link", "link/files"])(
  "refuses %s of a DATA_DIR",
  async (name) => {
    const dir = join(dataDir, name);
    const problem = `${dir} is a folder of a database: give another one to export into`;
    const names = await readdir(dataDir, { recursive: true });
    await expect(exportDays({ url: database.url, dir, finality: 0 })).rejects.toThrow(problem);
    await expect(makeFilesDir(dir)).rejects.toThrow(`FILES_DIR ${dir} cannot be made: ${problem}`);
    expect(await readdir(dataDir, { recursive: true })).toEqual(names);
  },
);

it("exports into another folder that is in a DATA_DIR", async () => {
  const dir = join(dataDir, "files");
  await makeFilesDir(dir);
  expect((await exportDays({ url: database.url, dir, finality: 0 }))?.days).toHaveLength(2);
});
