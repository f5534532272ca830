// Runs one of several programs by its name: `npm run bench -- NAME [options]`.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { installPackages } from "./install-packages.ts";
import { PROGRAMS } from "./programs.ts";

const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
const EXIT_USAGE = 2;

const [script = "", name = "", ...args] = process.argv.slice(2);
const programs = PROGRAMS[script] ?? {};
const program = programs[name];
if (program === undefined) {
  const isHelp = name === "" || name === "--help" || name === "-h";
  const width = Math.max(...Object.keys(programs).map(({ length }) => length));
  const lines = Object.entries(programs).map(
    ([key, { does }]) => `  ${key.padEnd(width)}  ${does}`,
  );
  const usage = [`Usage: npm run ${script} -- NAME [options]`, "", ...lines].join("\n");
  if (isHelp && name !== "") console.log(usage);
  else console.error(isHelp ? usage : `'${name}' is no name of \`npm run ${script}\`.\n${usage}`);
  process.exit(isHelp && name !== "" ? 0 : EXIT_USAGE);
}

for (const folder of program.packages ?? []) installPackages(folder);
const [command = "", ...rest] = program.command;
const { status, signal, error } = spawnSync(command, [...rest, ...args], {
  cwd: REPOSITORY,
  stdio: "inherit",
  env: { ...process.env, ...program.env },
});
if (error !== undefined) throw error;
process.exitCode = signal === null ? (status ?? 1) : 1;
