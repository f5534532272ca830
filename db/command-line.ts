// Reads the arguments of a command.
import { parseArgs, type ParseArgsConfig } from "node:util";
import { INTEGER } from "./integer-text.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

export interface CommandLine<O extends Options> {
  /** What `--help` shows. */
  usage: string;
  options: O;
  /** How many arguments besides options it takes at most; 0 unless given. */
  max?: number;
  /** The exit code for wrong arguments; 2 unless given. */
  exitCode?: number;
}

const EXIT_USAGE = 2;

/**
 * The options and arguments that this process was started with. Ends the process where it was asked for
 * help, or where an argument is unknown: nothing has been done then.
 */
export function readCommandLine<const O extends Options>({
  usage,
  options,
  max = 0,
  exitCode = EXIT_USAGE,
}: CommandLine<O>) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { ...options, help: { type: "boolean", short: "h" } as const },
    });
    if ((values as { help?: boolean }).help === true) {
      console.log(usage);
      process.exit(0);
    }
    const unexpected = positionals[max];
    if (unexpected !== undefined) throw new Error(`Unexpected argument '${unexpected}'`);
    return { values, positionals };
  } catch (error) {
    return refuse((error as Error).message, exitCode);
  }
}

/** Ends the process for an argument whose value is not accepted. */
export function refuse(message: string, exitCode = EXIT_USAGE): never {
  // parseArgs adds advice that suits no command here.
  const [reason = ""] = message.split(/\. |\n/);
  console.error(`${reason.replace(/\.$/, "")}. \`--help\` shows what is accepted.`);
  process.exit(exitCode);
}

/** The value of an option, in digits alone. */
export function readInteger(option: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (INTEGER.test(text) && value >= min && value <= max) return value;
  return refuse(`--${option} is an integer from ${min} to ${max}, not ${JSON.stringify(text)}`);
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Is aborted by the first SIGINT or SIGTERM; the second one ends the process. */
export function abortOnSignals(): AbortSignal {
  const stop = new AbortController();
  for (const signal of SIGNALS) process.once(signal, () => stop.abort());
  return stop.signal;
}

/** Has SIGINT and SIGTERM end the process with this exit code, after `clean`. */
export function cleanOnSignals(exitCode: number, clean: () => Promise<unknown> | undefined): void {
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      // Connections to a dropped database end with it, for which graphile-migrate exits with 1.
      process
        .on("uncaughtException", () => undefined)
        .on("exit", () => (process.exitCode = exitCode));
      void Promise.resolve(clean()).finally(() => process.exit(exitCode));
    });
  }
}
