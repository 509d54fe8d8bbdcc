import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';

/** The two networks of every machine: clients come over one, NATS is on the other. */
export type Side = 'clients' | 'nats';
const SIDES: readonly Side[] = ['clients', 'nats'];

const HOST_PART = 254;
/** What the system can do to packets that leave through a device: the first of them that its kernel knows is taken. */
type Disciplines = readonly (readonly string[])[];
/** Delay and loss; or a link that cannot carry what the tests send: packets wait, and some are dropped. */
const SLOW: Disciplines = [
  ['netem', 'delay', '80ms', '40ms', 'loss', '3%'],
  ['tbf', 'rate', '2mbit', 'burst', '4kb', 'latency', '200ms'],
];
/** Every packet is dropped without a word. */
const NOTHING: Disciplines = [['blackhole'], ['bfifo', 'limit', '1']];

/** Why networks cannot be made here, or undefined. */
export const networkMissing: string | undefined = whyMissing();

function whyMissing(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are of Linux';
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  const name = `pq${process.pid}probe`;
  const made =
    ran('netns', 'add', name) &&
    ran('link', 'add', `pq${process.pid}p`, 'type', 'bridge') &&
    ran('netns', 'exec', name, 'true');
  ran('link', 'del', `pq${process.pid}p`);
  ran('netns', 'del', name);
  return made ? undefined : '`ip netns` cannot be used here';
}

function ran(...args: readonly string[]): boolean {
  return spawnSync('ip', args, { stdio: 'ignore' }).status === 0;
}

function ip(...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${error?.message ?? stderr}`);
}

interface Device {
  readonly name: string;
  readonly space?: string;
}

/** What leaves through a device goes through such a queue from now on, or through none. */
function tc(verb: 'replace' | 'del', { name, space }: Device, discipline: readonly string[] = []): boolean {
  const inside = space === undefined ? [] : ['-n', space];
  const command = [...inside, 'qdisc', verb, 'dev', name, 'root', ...discipline];
  return spawnSync('tc', command, { stdio: 'ignore' }).status === 0;
}

function queue(device: Device, disciplines: Disciplines): void {
  if (disciplines.some((discipline) => tc('replace', device, discipline))) return;
  throw new Error(`tc cannot make a ${disciplines.map(([kind]) => kind).join(' or a ')} here`);
}

function both(one: string, other: string): readonly (readonly [string, string])[] {
  return [
    [one, other],
    [other, one],
  ];
}

let networks = 0;
const living = new Set<Network>();
process.on('exit', () => {
  for (const network of living) network.remove();
});

/** Machines of their own network namespaces on two bridges; this process has an address on both. */
export class Network {
  readonly #names: readonly string[];
  readonly #id: string;
  readonly #prefixes: Readonly<Record<Side, string>>;

  constructor(names: readonly string[]) {
    sweep();
    this.#names = names;
    this.#id = `pq${process.pid}${String.fromCharCode(97 + (networks++ % 26))}`;
    this.#prefixes = freePrefixes();
    living.add(this);
    try {
      this.#build();
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  address(name: string, side: Side): string {
    return `${this.#prefixes[side]}.${this.#indexOf(name) + 1}`;
  }

  /** What runs a command on a machine: goes in front of it. */
  on(name: string): readonly string[] {
    return ['ip', 'netns', 'exec', this.#space(name)];
  }

  /** Takes the cable out of the switch: both ends keep their link, nothing gets through. */
  cut(name: string, side: Side): void {
    ip('link', 'set', this.#port(name, side), 'nomaster');
  }

  /** The cable is in its place, at full speed and in both directions. */
  heal(name: string, side: Side): void {
    ip('link', 'set', this.#port(name, side), 'master', this.#bridge(side));
    for (const device of this.#ends(name, side)) tc('del', device);
  }

  /** Delay and loss in what comes to the machine. */
  slow(name: string, side: Side): void {
    queue(this.#ends(name, side)[0], SLOW);
  }

  /** One direction of a cable: nothing comes to the machine, or nothing of it goes out. The other works. */
  cutOneWay(name: string, side: Side, direction: 'to' | 'from'): void {
    queue(this.#ends(name, side)[direction === 'to' ? 0 : 1], NOTHING);
  }

  /** These two do not reach each other, everybody else reaches both. */
  part(one: string, other: string, side: Side): void {
    for (const [name, peer] of both(one, other))
      ip('-n', this.#space(name), 'route', 'add', 'blackhole', this.address(peer, side));
  }

  join(one: string, other: string, side: Side): void {
    for (const [name, peer] of both(one, other))
      ip('-n', this.#space(name), 'route', 'del', 'blackhole', this.address(peer, side));
  }

  remove(): void {
    living.delete(this);
    for (const name of this.#names) {
      for (const side of SIDES) ran('link', 'del', this.#port(name, side));
      ran('netns', 'del', this.#space(name));
    }
    for (const side of SIDES) ran('link', 'del', this.#bridge(side));
  }

  #build(): void {
    for (const side of SIDES) {
      ip('link', 'add', this.#bridge(side), 'type', 'bridge');
      ip('addr', 'add', `${this.#prefixes[side]}.${HOST_PART}/24`, 'dev', this.#bridge(side));
      ip('link', 'set', this.#bridge(side), 'up');
    }
    for (const name of this.#names) {
      const space = this.#space(name);
      ip('netns', 'add', space);
      ip('-n', space, 'link', 'set', 'lo', 'up');
      for (const side of SIDES) {
        ip('link', 'add', this.#port(name, side), 'type', 'veth', 'peer', 'name', side, 'netns', space);
        ip('link', 'set', this.#port(name, side), 'master', this.#bridge(side), 'up');
        ip('-n', space, 'addr', 'add', `${this.address(name, side)}/24`, 'dev', side);
        ip('-n', space, 'link', 'set', side, 'up');
      }
    }
  }

  /** Both ends of a cable: what leaves at the switch's comes to the machine. */
  #ends(name: string, side: Side): readonly [Device, Device] {
    return [{ name: this.#port(name, side) }, { name: side, space: this.#space(name) }];
  }

  #indexOf(name: string): number {
    const index = this.#names.indexOf(name);
    if (index < 0) throw new Error(`no machine ${name}`);
    return index;
  }

  #space(name: string): string {
    return `${this.#id}-${name}`;
  }

  #bridge(side: Side): string {
    return `${this.#id}${side[0]}`;
  }

  /** The switch's end of a machine's cable. */
  #port(name: string, side: Side): string {
    return `${this.#id}${this.#indexOf(name)}${side[0]}`;
  }
}

/** Two /24 that no interface here has. */
function freePrefixes(): Record<Side, string> {
  const taken = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
  for (let tries = 0; tries < 100; tries++) {
    const second = 64 + Math.floor(Math.random() * 128);
    const third = 2 * Math.floor(Math.random() * 128);
    const prefixes = { clients: `10.${second}.${third}`, nats: `10.${second}.${third + 1}` };
    if (!taken.some((address) => SIDES.some((side) => address.startsWith(`${prefixes[side]}.`))))
      return prefixes;
  }
  throw new Error('no free private network');
}

/** Removes what runs left behind that were killed. */
function sweep(): void {
  const { stdout } = spawnSync('ip', ['netns', 'list'], { encoding: 'utf8' });
  for (const [space, pid] of stdout.matchAll(/^pq(\d+)[a-z]-\S+/gm)) {
    if (!existsSync(`/proc/${pid}`)) ran('netns', 'del', space);
  }
  for (const name of Object.keys(networkInterfaces())) {
    const pid = /^pq(\d+)[a-z][cn]$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) ran('link', 'del', name);
  }
}
