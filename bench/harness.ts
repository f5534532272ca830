// What every benchmark shares: numbers of the command line, and the page of its results.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readCommandLine, refuse } from "../db/command-line.ts";
import { describeMachine, type Machine } from "./report/machine.ts";

export const log = (line: string): void => console.log(line);

export const whole = (value: number): string =>
  value.toLocaleString("en", { maximumFractionDigits: 0 });

/** An option of a benchmark: what `--help` says, its default, and the minimum of a number. */
type Option = readonly [does: string, usual: number | string, minimum?: number];

/**
 * Reads whole numbers and texts, and `--out`, with its default, unless that is empty. Ends the process for help, or where an option is not
 * accepted.
 */
export function readOptions<const Options extends Record<string, Option>>(
  command: string,
  out: string,
  does: string,
  given: Options,
) {
  const results = out === "" ? {} : { out: ["where the results go", out] as const };
  const options = Object.entries<Option>({ ...given, ...results });
  const lines = options.map(
    ([name, [says, usual]]) => `  --${name.padEnd(20)}  ${says}${usual && `; default ${usual}`}`,
  );
  const { values } = readCommandLine({
    usage: [`Usage: npm run ${command} [options]`, does, lines.join("\n")].join("\n\n"),
    options: Object.fromEntries(
      options.map(
        ([name, [, usual]]) => [name, { type: "string", default: String(usual) }] as const,
      ),
    ),
  });
  const read = options.map(([name, [, usual, minimum = -Infinity]]) => {
    if (typeof usual === "string") return [name, values[name]];
    const value = Number(values[name]);
    if (Number.isSafeInteger(value) && value >= minimum) return [name, value];
    return refuse(`--${name} is a whole number from ${minimum}`);
  });
  return Object.fromEntries(read) as {
    [Name in keyof Options]: Options[Name][1] extends number ? number : string;
  } & { out: string };
}

/** When, how and where a benchmark ran. */
export interface Run {
  /** End of the run, ISO 8601. */
  at: string;
  command: string;
  machine: Machine;
}

/** Describes this run. `--out` is left out of the command, because it does not affect the results. */
export async function runOf(name: string, databaseUrl: string): Promise<Run> {
  const given = process.argv.slice(2);
  const out = given.indexOf("--out");
  const shown = out < 0 ? given : given.toSpliced(out, 2);
  return {
    at: new Date().toISOString(),
    command: [`npm run bench -- ${name}`, ...shown].join(" "),
    machine: await describeMachine(databaseUrl),
  };
}

/** The first lines of a page of results; `sizes` say how much was measured. */
export function runLines({ at, command, machine }: Run, ...sizes: string[]): string {
  const packages = Object.entries(machine.packages).map((named) => named.join(" "));
  const load = `the machine's load average of the 15 minutes before was ${machine.loadBefore}`;
  return [
    `${at}, by \`${command}\``,
    ...sizes,
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ${machine.system}; ` +
      "clients, servers and database share them",
    machine.loadBefore > machine.cores / 4 ? `${load}: others were using it too` : load,
    [`Node ${machine.node}, PostgreSQL ${machine.postgresql}`, ...packages].join(", "),
  ]
    .map((line) => `- ${line}`)
    .join("\n");
}

/** Formats a Markdown table. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** A bound that the project sets itself, and what was measured. */
export interface Goal {
  name: string;
  value: string;
  bound: string;
  isReached: boolean;
}

export function goal(
  name: string,
  value: number,
  bound: { atLeast: number } | { atMost: number },
  shown: (value: number) => string,
): Goal {
  const [sign, limit, isReached] =
    "atLeast" in bound
      ? ["≥", bound.atLeast, value >= bound.atLeast]
      : ["≤", bound.atMost, value <= bound.atMost];
  return { name, value: shown(value), bound: `${sign} ${shown(limit)}`, isReached };
}

export const goalsTable = (goals: readonly Goal[]): string =>
  table(
    ["goal", "value", "bound", ""],
    goals.map(({ name, value, bound, isReached }) => [
      ...[name, value, bound, isReached ? "reached" : "**missed**"],
    ]),
  );

/** Writes the page of the results, and files beside it. */
export async function publish(
  folder: string,
  sections: string[],
  beside: Record<string, string> = {},
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = { "README.md": `${sections.join("\n\n")}\n`, ...beside };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  log(`See ${folder}`);
}
