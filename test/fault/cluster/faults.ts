import type { SeededIds } from '../../../src/base/ids.js';
import { sleep } from '../exercise.js';
import type { Machine } from './machine.js';
import type { Machines } from './machines.js';

/** Something that goes wrong, and how it is put right again. */
export interface Fault {
  readonly name: string;
  /** Does it; resolves with what undoes it. */
  strike(machines: Machines): Promise<() => Promise<void>>;
}

const HOLD_MS_MIN = 2_000;
const HOLD_MS_MORE = 5_000;
const FROZEN_MS = 5_000;

/** Ends a program, and starts it again. */
function killed(name: string, who: (machines: Machines) => Promise<Machine>, signal?: NodeJS.Signals): Fault {
  return {
    name,
    strike: async (machines) => {
      const machine = await who(machines);
      await machine.end(signal);
      return () => {
        machine.start();
        return Promise.resolve();
      };
    },
  };
}

/** Takes a machine off the network of the NATS servers, and of its clients where there are any. */
function cut(name: string, who: (machines: Machines) => Promise<Machine>, sides: 'nats' | 'both'): Fault {
  return {
    name,
    strike: async (machines) => {
      const machine = await who(machines);
      const all = sides === 'both' ? (['nats', 'clients'] as const) : (['nats'] as const);
      for (const side of all) machines.network.cut(machine.name, side);
      return () => {
        for (const side of all) machines.network.heal(machine.name, side);
        return Promise.resolve();
      };
    },
  };
}

function frozen(name: string, who: (machines: Machines) => Promise<Machine>): Fault {
  return {
    name,
    strike: async (machines) => {
      const machine = await who(machines);
      machine.signal('SIGSTOP');
      return async () => {
        await sleep(Math.max(0, FROZEN_MS - HOLD_MS_MIN));
        machine.signal('SIGCONT');
      };
    },
  };
}

const slowNetwork: Fault = {
  name: 'slow-network',
  strike: (machines) => {
    const all = [...machines.nodes, ...machines.servers];
    for (const { name } of all) machines.network.slow(name, 'nats');
    return Promise.resolve(() => {
      for (const { name } of all) machines.network.heal(name, 'nats');
      return Promise.resolve();
    });
  },
};

const owner = (machines: Machines): Promise<Machine> => machines.owner();
const standby = (machines: Machines): Promise<Machine> => machines.standby();
const leader = (machines: Machines): Promise<Machine> => machines.leader();
/** A server that does not lead the journal's stream. */
const follower = async (machines: Machines): Promise<Machine> => {
  const leading = await machines.leader();
  return machines.servers.find((server) => server !== leading) ?? leading;
};

const FAULTS: readonly Fault[] = [
  killed('kill-owner', owner),
  cut('cut-owner', owner, 'nats'),
  killed('kill-nats-leader', leader),
  killed('stop-owner', owner, 'SIGTERM'),
  killed('kill-standby', standby),
  cut('cut-owner-from-all', owner, 'both'),
  cut('cut-standby', standby, 'nats'),
  cut('cut-nats-leader', leader, 'nats'),
  cut('cut-nats-follower', follower, 'nats'),
  killed('kill-nats-follower', follower),
  frozen('freeze-owner', owner),
  frozen('freeze-standby', standby),
  frozen('freeze-nats-leader', leader),
  slowNetwork,
];

/** For how long a fault stays. */
export function holdMs(random: SeededIds): number {
  return HOLD_MS_MIN + random.below(HOLD_MS_MORE);
}

/** The named faults over and over; without names all of them, each time in another order. */
export function* schedule(names: readonly string[], random: SeededIds): Generator<Fault, never> {
  for (;;) {
    yield* names.map(byName);
    if (names.length > 0) continue;
    const left = [...FAULTS];
    while (left.length > 0) yield* left.splice(random.below(left.length), 1);
  }
}

function byName(wanted: string): Fault {
  const found = FAULTS.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  throw new Error(`no fault ${wanted}; there are ${FAULTS.map(({ name }) => name).join(', ')}`);
}
