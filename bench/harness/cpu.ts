import { readdirSync, readFileSync } from 'node:fs';

// The kernel reports times in this many ticks a second on every Linux in use.
const TICKS_PER_SECOND = 100;

/** Seconds of processor time the process and its descendants have used; 0 for one that is gone. */
export function processSeconds(pid: number): number {
  return [pid, ...descendants(pid)].reduce((sum, one) => sum + ownSeconds(one), 0);
}

/** Memory of the process and its descendants that is in RAM, in MiB. */
export function residentMiB(pid: number): number {
  return [pid, ...descendants(pid)].reduce((sum, one) => {
    const found = /VmRSS:\s+(\d+) kB/.exec(read(`/proc/${String(one)}/status`));
    return sum + Number(found?.[1] ?? 0) / 1024;
  }, 0);
}

/** Seconds of processor time the machine has spent on anything. */
export function machineSeconds(): number {
  const [, user, nice, system, , , irq, softIrq] = (read('/proc/stat').split('\n')[0] ?? '')
    .split(/\s+/)
    .map(Number);
  return ((user ?? 0) + (nice ?? 0) + (system ?? 0) + (irq ?? 0) + (softIrq ?? 0)) / TICKS_PER_SECOND;
}

function ownSeconds(pid: number): number {
  const stat = read(`/proc/${String(pid)}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

function descendants(pid: number): number[] {
  const children: number[] = [];
  const tasks = `/proc/${String(pid)}/task`;
  try {
    for (const task of readdirSync(tasks)) {
      for (const child of read(`${tasks}/${task}/children`).split(' ')) {
        if (child !== '') children.push(Number(child), ...descendants(Number(child)));
      }
    }
  } catch {
    // The process ended meanwhile.
  }
  return children;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
