import { machineSeconds } from '../harness/cpu.js';

/** Processor time of this process and of all others since it was made. */
export class Usage {
  readonly #start = performance.now();
  readonly #own = process.cpuUsage();
  readonly #machine = machineSeconds();

  /** This process's processor time for each of `messages`, in µs, and the load of everything else, in cores. */
  note(messages: number): string {
    const used = process.cpuUsage(this.#own);
    const seconds = (performance.now() - this.#start) / 1000;
    const own = (used.user + used.system) / 1_000_000;
    const other = Math.max(0, (machineSeconds() - this.#machine - own) / seconds);
    return `${((own * 1_000_000) / messages).toFixed(1)} µs (other ${other.toFixed(2)})`;
  }
}
