// Every command of package.json shows its help, and refuses what it does not know before it does anything.
import { readFileSync } from "node:fs";
import { PROGRAMS } from "../../tools/programs.ts";
import { runFile } from "../service.ts";

const { scripts } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { scripts: Record<string, string> };

interface Command {
  /** What follows `npm run `. */
  name: string;
  file: string;
  args: string[];
}

// What a script runs last; before it, some install the packages that it needs.
const OF_SCRIPTS: Command[] = Object.entries(scripts).flatMap(([name, script]) => {
  const [, file, args = ""] =
    /(?:^|&& )(?:exec )?node (?:--import \S+ )?(\S+\.ts)([^&]*)$/.exec(script) ?? [];
  return file === undefined ? [] : [{ name, file, args: args.split(" ").filter(Boolean) }];
});

const OF_PROGRAMS: Command[] = Object.entries(PROGRAMS).flatMap(([script, programs]) =>
  Object.entries(programs).flatMap(([name, { command }]) => {
    const [runs, file = "", ...args] = command;
    return runs === "node" && file.endsWith(".ts")
      ? [{ name: `${script} -- ${name}`, file, args }]
      : [];
  }),
);

const COMMANDS = [...OF_SCRIPTS, ...OF_PROGRAMS];

/** Nothing listens there. */
const NOWHERE = { DATABASE_OWNER_URL: "postgres://nobody@127.0.0.1:1/nothing" };

/** Of db:status, 2 says that the current migration is not committed. */
const exitCodeOf = (name: string): number => (name === "db:status" ? 4 : 2);

it("knows every command", () => {
  expect(COMMANDS.length).toBeGreaterThanOrEqual(30);
});

it.each(COMMANDS)("$name shows its help", async ({ name, file, args }) => {
  const { code, stdout, stderr } = await runFile(file, NOWHERE, [...args, "--help"]).ended;

  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^Usage: npm /);
  expect(stdout).toContain(name === "start" ? "npm start" : `npm run ${name}`);
});

it.each(COMMANDS)("$name refuses what it does not know", async ({ name, file, args }) => {
  const refused = await Promise.all([
    runFile(file, NOWHERE, [...args, "--no-such-option"]).ended,
    runFile(file, NOWHERE, [...args, "unexpected", "arguments"]).ended,
  ]);

  for (const { code, stdout, stderr } of refused) {
    expect({ code, stdout }).toEqual({ code: exitCodeOf(name), stdout: "" });
    expect(stderr).not.toBe("");
    expect(stderr).not.toMatch(/^ {4}at /m);
  }
  expect(refused[0].stderr).toContain("--no-such-option");
});
