import type { NodeProcess } from './node.js';
import type { World } from './world.js';

const EVERY_MS = 350;
/** Farthest a wall clock is from the world's. */
export const WALL_OFFSET_MS_MAX = 3_000;

/** What goes wrong, when, and for how long: all by the world's dice. */
export class Disasters {
  readonly #world: World;
  #hasEnded = false;

  constructor(world: World) {
    this.#world = world;
  }

  begin(): void {
    const { time, random } = this.#world;
    time.after(100 + random.below(EVERY_MS * 2), () => {
      if (this.#hasEnded) return;
      this.#strike();
      this.begin();
    });
  }

  /** All is well from here on. */
  end(): void {
    this.#hasEnded = true;
    const { machines, network, servers } = this.#world;
    network.heal();
    network.lost = 0;
    network.slow = 0;
    for (const stream of [servers.log, servers.checkpoints]) stream.catchUp();
    machines.forEach(({ process }, i) => {
      if (process === undefined || process.clock.ended) this.#world.start(i);
      else {
        process.onAppend = undefined;
        process.onCheckpoint = undefined;
        process.sever(false);
        process.setFaults(0, 0);
        if (process.isPaused) process.resume(false);
      }
    });
  }

  #strike(): void {
    const { random, machines } = this.#world;
    // The owner is hit more often than the others: there is most to break.
    const owner = machines.findIndex(({ process }) => process?.serving !== undefined);
    const index = owner >= 0 && random.chance(0.6) ? owner : random.below(machines.length);
    const process = machines[index]?.process;
    if (process === undefined || process.clock.ended || process.isPaused) return;
    const disasters = [
      () => this.#crash(index, process),
      () => this.#stop(index, process),
      () => this.#pause(process, 50 + random.below(1500)),
      () => this.#pauseInAppend(process),
      () => this.#pauseInCheckpoint(process),
      () => this.#sever(process),
      () => this.#partition(process),
      () => this.#lossyNetwork(),
      () => this.#lossyServers(process),
      () => this.#slowDisk(process),
      () => this.#leaderChange(),
      () => this.#moveClock(index),
    ];
    disasters[random.below(disasters.length)]?.();
  }

  #crash(index: number, process: NodeProcess): void {
    const { time, random } = this.#world;
    this.#world.tell(`${process.name} crashes`);
    process.kill();
    time.after(50 + random.below(1500), () => this.#again(index, process));
  }

  #stop(index: number, process: NodeProcess): void {
    const { time, random } = this.#world;
    this.#world.tell(`${process.name} stops`);
    process.stop().catch((error: unknown) => this.#world.fail(error));
    // As an operator's patience ends: what has not stopped by then is killed.
    time.after(500 + random.below(1000), () => {
      if (process.clock.ended) this.#again(index, process);
      else if (!process.isPaused) this.#crash(index, process);
      else time.after(1600, () => this.#crash(index, process));
    });
  }

  #again(index: number, process: NodeProcess): void {
    if (this.#world.machines[index]?.process === process) this.#world.start(index);
  }

  #pause(process: NodeProcess, ms: number): void {
    const { time, random } = this.#world;
    const asleep = random.chance(0.3);
    this.#world.tell(`${process.name} ${asleep ? 'sleeps' : 'is paused'} for ${ms} ms`);
    process.pause();
    time.after(ms, () => {
      if (process.isPaused) process.resume(asleep);
    });
  }

  /** Its lease ends while an append is on its way. */
  #pauseInAppend(process: NodeProcess): void {
    const ms = 400 + this.#world.random.below(900);
    process.onAppend = () => {
      process.onAppend = undefined;
      if (!process.isPaused && !process.clock.ended) this.#pause(process, ms);
    };
  }

  /** Likewise while a checkpoint is: what it says is old by the time it goes on. */
  #pauseInCheckpoint(process: NodeProcess): void {
    const ms = 400 + this.#world.random.below(900);
    process.onCheckpoint = () => {
      process.onCheckpoint = undefined;
      if (!process.isPaused && !process.clock.ended) this.#pause(process, ms);
    };
  }

  #sever(process: NodeProcess): void {
    const { time, random } = this.#world;
    this.#world.tell(`${process.name} is cut off from NATS`);
    process.sever(true);
    time.after(50 + random.below(1200), () => process.sever(false));
  }

  #partition(process: NodeProcess): void {
    const { time, random, network } = this.#world;
    network.sever(process.name, `c${random.below(3)}`);
    time.after(100 + random.below(800), () => network.heal());
  }

  #lossyNetwork(): void {
    const { time, random, network } = this.#world;
    network.lost = random.next() * 0.3;
    network.slow = random.next() * 0.3;
    time.after(200 + random.below(1000), () => {
      network.lost = 0;
      network.slow = 0;
    });
  }

  #lossyServers(process: NodeProcess): void {
    const { time, random } = this.#world;
    this.#world.tell(`answers of NATS to ${process.name} get lost`);
    process.setFaults(random.next() * 0.3, 0);
    time.after(200 + random.below(1000), () => process.setFaults(0, 0));
  }

  /** The servers choose a leader: answers to publishers get lost, and whoever answers questions may be behind. */
  #leaderChange(): void {
    const { time, random, servers, machines } = this.#world;
    const streams = [servers.log, servers.checkpoints];
    const changing = random.chance(0.3) ? streams : [streams[random.below(2)] as (typeof streams)[0]];
    const share = 0.2 + random.next() * 0.7;
    this.#world.tell('a leader changes');
    for (const stream of changing) stream.fallBehind(share);
    const faults = random.next() * 0.5;
    for (const { process } of machines) process?.setFaults(faults, 0);
    time.after(50 + random.below(300), () => {
      for (const { process } of machines) process?.setFaults(0, 0);
    });
    time.after(100 + random.below(1000), () => {
      for (const stream of changing) stream.catchUp();
    });
  }

  #slowDisk(process: NodeProcess): void {
    const { time, random } = this.#world;
    process.setFaults(0, 10 + random.below(120));
    time.after(200 + random.below(1000), () => process.setFaults(0, 0));
  }

  #moveClock(index: number): void {
    const { machines, random } = this.#world;
    const machine = machines[index];
    if (machine === undefined) return;
    this.#world.tell(`the wall clock of n${index} jumps`);
    machine.faults.wallOffsetMs = random.below(WALL_OFFSET_MS_MAX * 2) - WALL_OFFSET_MS_MAX;
  }
}
