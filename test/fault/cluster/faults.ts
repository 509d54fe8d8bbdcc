import type { SeededIds } from '../../../src/base/ids.js';
import { sleep } from '../exercise.js';
import type { Machine } from './machine.js';
import type { Machines } from './machines.js';
import type { Network, Side } from './network.js';

type Undo = () => Promise<void>;
type Pick = (machines: Machines) => Promise<Machine>;

/** Something that goes wrong, and how it is put right again. */
export interface Fault {
  readonly name: string;
  /** Chooses whom it hits; what it resolves with does it, and resolves with what undoes it. */
  aim(machines: Machines): Promise<() => Promise<Undo>>;
}

const HOLD_MS_MIN = 2_000;
const HOLD_MS_MORE = 5_000;
const FROZEN_MS = 5_000;

/** Ends a program, and starts it again. */
function killed(name: string, who: Pick, signal?: NodeJS.Signals): Fault {
  return {
    name,
    aim: async (machines) => {
      const machine = await who(machines);
      return async () => {
        await machine.end(signal);
        return () => {
          machine.start();
          return Promise.resolve();
        };
      };
    },
  };
}

/** Something about the network, done and undone at once. */
interface Break {
  readonly strike: (network: Network) => void;
  readonly heal: (network: Network) => void;
}

function ofNetwork(name: string, aim: (machines: Machines) => Promise<Break>): Fault {
  return {
    name,
    aim: async (machines) => {
      const { network } = machines;
      const { strike, heal } = await aim(machines);
      return () => {
        strike(network);
        return Promise.resolve(() => {
          heal(network);
          return Promise.resolve();
        });
      };
    },
  };
}

/** Takes a machine off the network of the NATS servers, and of its clients where there are any. */
function cut(name: string, who: Pick, sides: readonly Side[]): Fault {
  return ofNetwork(name, async (machines) => {
    const machine = await who(machines);
    return {
      strike: (network) => sides.forEach((side) => network.cut(machine.name, side)),
      heal: (network) => sides.forEach((side) => network.heal(machine.name, side)),
    };
  });
}

/** It is heard by the NATS servers and hears nothing of them, or the other way round. */
function cutOneWay(name: string, who: Pick, direction: 'to' | 'from'): Fault {
  return ofNetwork(name, async (machines) => {
    const machine = await who(machines);
    return {
      strike: (network) => network.cutOneWay(machine.name, 'nats', direction),
      heal: (network) => network.heal(machine.name, 'nats'),
    };
  });
}

/** Two that do not reach each other, while everybody else reaches both. */
function parted(name: string, one: Pick, other: Pick): Fault {
  return ofNetwork(name, async (machines) => {
    const [first, second] = [(await one(machines)).name, (await other(machines)).name];
    return {
      strike: (network) => network.part(first, second, 'nats'),
      heal: (network) => network.join(first, second, 'nats'),
    };
  });
}

function frozen(name: string, who: Pick): Fault {
  return {
    name,
    aim: async (machines) => {
      const machine = await who(machines);
      return () => {
        machine.signal('SIGSTOP');
        return Promise.resolve(async () => {
          await sleep(Math.max(0, FROZEN_MS - HOLD_MS_MIN));
          machine.signal('SIGCONT');
        });
      };
    },
  };
}

const slowNetwork = ofNetwork('slow-network', (machines) => {
  const names = [...machines.nodes, ...machines.servers].map(({ name }) => name);
  return Promise.resolve({
    strike: (network) => names.forEach((name) => network.slow(name, 'nats')),
    heal: (network) => names.forEach((name) => network.heal(name, 'nats')),
  });
});

/** Two at once: whom they hit is chosen before either strikes. */
function together(one: Fault, other: Fault): Fault {
  return {
    name: `${one.name}+${other.name}`,
    aim: async (machines) => {
      const strikes = [await one.aim(machines), await other.aim(machines)];
      return async () => {
        const undone: Undo[] = [];
        for (const strike of strikes) undone.unshift(await strike());
        return async () => {
          for (const undo of undone) await undo();
        };
      };
    },
  };
}

const owner = (machines: Machines): Promise<Machine> => machines.owner();
const standby = (machines: Machines): Promise<Machine> => machines.standby();
const leader = (machines: Machines): Promise<Machine> => machines.leader();
/** A server that does not lead the journal's stream. */
const follower = async (machines: Machines): Promise<Machine> => {
  const leading = await machines.leader();
  return machines.servers.find((server) => server !== leading) ?? leading;
};

const SINGLE: readonly Fault[] = [
  killed('kill-owner', owner),
  cut('cut-owner', owner, ['nats']),
  killed('kill-nats-leader', leader),
  killed('stop-owner', owner, 'SIGTERM'),
  killed('kill-standby', standby),
  cut('cut-owner-from-all', owner, ['nats', 'clients']),
  cut('cut-standby', standby, ['nats']),
  cut('cut-nats-leader', leader, ['nats']),
  cut('cut-nats-follower', follower, ['nats']),
  killed('kill-nats-follower', follower),
  frozen('freeze-owner', owner),
  frozen('freeze-standby', standby),
  frozen('freeze-nats-leader', leader),
  cutOneWay('deafen-owner', owner, 'to'),
  cutOneWay('mute-owner', owner, 'from'),
  cutOneWay('deafen-nats-leader', leader, 'to'),
  cutOneWay('mute-nats-leader', leader, 'from'),
  parted('part-owner-from-nats-leader', owner, leader),
  parted('part-nats-leader-from-follower', leader, follower),
  slowNetwork,
];

/** One node and one NATS server, or two nodes: what a cluster of three each says that it survives. */
const PAIRS = [
  'kill-owner+kill-nats-leader',
  'freeze-owner+kill-nats-follower',
  'cut-owner+mute-nats-leader',
  'deafen-owner+kill-standby',
  'kill-owner+freeze-standby',
  'stop-owner+cut-nats-leader',
  'slow-network+kill-owner',
];

/** For how long a fault stays. */
export function holdMs(random: SeededIds): number {
  return HOLD_MS_MIN + random.below(HOLD_MS_MORE);
}

/** The named faults over and over, `a+b` two at once; without names all of them, each time in another order. */
export function* schedule(names: readonly string[], random: SeededIds): Generator<Fault, never> {
  for (;;) {
    yield* names.map(byName);
    if (names.length > 0) continue;
    const left = [...SINGLE, ...PAIRS.map(byName)];
    while (left.length > 0) yield* left.splice(random.below(left.length), 1);
  }
}

function byName(wanted: string): Fault {
  return wanted.split('+').map(single).reduce(together);
}

function single(wanted: string): Fault {
  const found = SINGLE.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  throw new Error(`no fault ${wanted}; there are ${SINGLE.map(({ name }) => name).join(', ')}`);
}
