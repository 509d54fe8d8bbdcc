import { readFile, readlink } from 'node:fs/promises';

/** What is unknown is the same everywhere: then only the process id tells two processes apart. */
const UNKNOWN = '';

/** When a process started, in the kernel's own ticks: tells it from a later one with the same id. */
export async function startTime(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name, second and in brackets, may hold spaces; the state follows it, the start time is the 22nd field.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie is only waiting for its parent to look.
    return fields[0] === 'Z' ? UNKNOWN : (fields[19] ?? UNKNOWN);
  } catch {
    return UNKNOWN;
  }
}

/** Names this run of the machine. */
export async function bootId(): Promise<string> {
  try {
    return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  } catch {
    return UNKNOWN;
  }
}

/** Names the set of processes that process ids here belong to: another one in each container. */
export async function pidNamespace(): Promise<string> {
  try {
    return await readlink('/proc/self/ns/pid');
  } catch {
    return UNKNOWN;
  }
}

/** Whether the process of this id is there and is the one that started then. */
export async function isSameProcess(pid: number, started: string): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is there and belongs to someone else.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return (await startTime(pid)) === started;
}
