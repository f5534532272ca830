// Processes of a server that are halted, woken or killed together.
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** A process and its children. */
export async function familyOf(pid: number): Promise<number[]> {
  const all = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(all.map((one) => parentOf(one)));
  return [pid, ...all.filter((_, n) => parents[n] === pid)];
}

/** Ends them all at once, as a machine that goes away. */
export async function killAll(pids: readonly number[]): Promise<void> {
  for (const pid of pids) signal(pid, "SIGKILL");
  for (const pid of pids) while (await isRunning(pid)) await sleep(5);
}

/** Halts them, which keep their connections; returns what wakes them. */
export function freezeAll(pids: readonly number[]): () => void {
  for (const pid of pids) signal(pid, "SIGSTOP");
  return () => {
    for (const pid of pids) signal(pid, "SIGCONT");
  };
}

/** The fields of /proc/PID/stat behind the program's name: state and parent first. */
async function statOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

const parentOf = async (pid: number): Promise<number> => Number((await statOf(pid))[1]);

/** A zombie has ended. */
async function isRunning(pid: number): Promise<boolean> {
  const [state = ""] = await statOf(pid);
  return state !== "" && state !== "Z";
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
