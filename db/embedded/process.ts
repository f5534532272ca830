// Distinguishes a process that lives from one that only has its number.
import { readFile } from "node:fs/promises";

/** Whether a process of this number lives. One that has ended and was not waited for does not. */
export async function isAlive(pid: number): Promise<boolean> {
  return hasNumber(pid) && !/^[ZX]/.test((await fieldsOf(pid))[0] ?? "");
}

/** Whether the system has this number in use, be it for a process that has ended. */
export function hasNumber(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is somebody else's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** What the system says of a process after its program's name, which may hold spaces. */
async function fieldsOf(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * What distinguishes a process from a later one of the same number: the boot it belongs to, and when in it
 * the process started. Empty where the system does not say (anything but Linux), or it is gone.
 */
export async function birthOf(pid: number): Promise<string> {
  const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  const started = (await fieldsOf(pid))[19] ?? "";
  return started === "" ? "" : `${boot.trim()} ${started}`;
}
