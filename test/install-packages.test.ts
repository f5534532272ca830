// Packages of a tool are installed where they are not whole: never, before the last change, or with an interruption.
import { mkdir, mkdtemp, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { installPackages } from "../tools/install-packages.ts";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));

let folder: string;
const path = process.env["PATH"];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "dex-packages-"));
  // In npm's place: it notes that it ran.
  const program = `#!/bin/sh\necho "$1" >> ${folder}/ran\n`;
  await writeFile(join(folder, "npm"), program, { mode: 0o755 });
  process.env["PATH"] = `${folder}${delimiter}${path}`;
  await writeFile(join(folder, "package-lock.json"), "{}");
  await utimes(join(folder, "package-lock.json"), 1000, 1000);
});
afterEach(async () => {
  process.env["PATH"] = path;
  await rm(folder, { recursive: true });
});

/** The commands of npm that the installation ran. */
async function install(): Promise<string> {
  installPackages(relative(REPOSITORY, folder));
  return readFile(join(folder, "ran"), "utf8").catch(() => "");
}

it("installs after an interruption, which leaves a folder that is not whole", async () => {
  expect(await install()).toBe("ci\n");
  await mkdir(join(folder, "node_modules/squawk-cli"), { recursive: true });
  expect(await install()).toBe("ci\nci\n");
});

it("installs nothing where npm has ended, and installs again after a change", async () => {
  await mkdir(join(folder, "node_modules"));
  await writeFile(join(folder, "node_modules/.package-lock.json"), "{}");
  expect(await install()).toBe("");
  await utimes(join(folder, "node_modules/.package-lock.json"), 999, 999);
  expect(await install()).toBe("ci\n");
});
