// Tells a process that lives from one that only has its number.
import { readFile } from "node:fs/promises";

/** Whether a process of this number lives. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is somebody else's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * What tells a process from a later one of the same number: the boot it belongs to, and when in it
 * the process started. Empty where the system does not say (anything but Linux), or it is gone.
 */
export async function birthOf(pid: number): Promise<string> {
  try {
    const [boot, stat] = await Promise.all([
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
      readFile(`/proc/${pid}/stat`, "utf8"),
    ]);
    // The program's name, in parentheses, may hold spaces; the start is the 20th field after it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return `${boot.trim()} ${fields[19] ?? ""}`;
  } catch {
    return "";
  }
}
