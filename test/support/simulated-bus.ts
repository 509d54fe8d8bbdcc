import { BrokerError } from '../../src/core/errors.js';
import type { Bus, BusHandlers, BusStream, Member } from '../../src/cluster/contract.js';
import type { Random } from './random.js';
import type { ProcessClock, SimulatedTime } from './simulated-time.js';

const TRIP_MS_MAX = 6;
const SLOW_MS_MAX = 300;

/** The network between processes: messages take time, overtake each other, get lost; pairs may be cut off from each other. */
export class SimulatedNetwork {
  /** How often a message is lost, and how often it takes long. */
  lost = 0;
  slow = 0;
  readonly #time: SimulatedTime;
  readonly #random: Random;
  readonly #there = new Map<string, SimulatedBus>();
  readonly #severed = new Set<string>();

  constructor(time: SimulatedTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  /** A process of this name begins to listen; one of the same name before it does so no longer. */
  join(id: string, own: ProcessClock): SimulatedBus {
    const bus = new SimulatedBus({ id }, own, this);
    this.#there.set(id, bus);
    return bus;
  }

  sever(one: string, other: string): void {
    this.#severed.add(pairOf(one, other));
  }

  heal(): void {
    this.#severed.clear();
  }

  /** Carries a message; whether it arrives is anybody's guess. */
  carry(from: string, to: string, arrive: (at: SimulatedBus) => void): void {
    if (this.#random.chance(this.lost)) return;
    const delayMs = this.#random.below(this.#random.chance(this.slow) ? SLOW_MS_MAX : TRIP_MS_MAX);
    this.#time.after(delayMs, () => {
      const bus = this.#there.get(to);
      if (bus !== undefined && !this.#severed.has(pairOf(from, to))) bus.own.input(() => arrive(bus));
    });
  }
}

function pairOf(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

/** One process's end of the network. Requests only: nothing that is simulated uses streams yet. */
export class SimulatedBus implements Bus {
  readonly self: Member;
  readonly own: ProcessClock;
  readonly #network: SimulatedNetwork;
  readonly #services = new Map<string, BusHandlers>();

  constructor(self: Member, own: ProcessClock, network: SimulatedNetwork) {
    this.self = self;
    this.own = own;
    this.#network = network;
  }

  request(member: Member, service: string, body: Uint8Array, timeoutMs: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const timer = this.own.after(timeoutMs, () =>
        reject(new BrokerError('unavailable', `member ${member.id} did not answer`)),
      );
      const reply = (act: () => void): void =>
        this.#network.carry(member.id, this.self.id, (at) => {
          // A process that begins anew knows nothing of its former calls.
          if (at !== this) return;
          timer.cancel();
          act();
        });
      this.#network.carry(this.self.id, member.id, (at) => {
        at.answer(this.self, service, body).then(
          (answer) => reply(() => resolve(answer)),
          (error: unknown) => reply(() => reject(BrokerError.from(error))),
        );
      });
    });
  }

  /** What this end says to a request. */
  async answer(from: Member, service: string, body: Uint8Array): Promise<Uint8Array> {
    const answer = await this.#services.get(service)?.request?.(from, body);
    if (answer === undefined) throw new BrokerError('unavailable', `nobody serves ${service}`);
    return answer;
  }

  open(): Promise<BusStream> {
    return Promise.reject(new BrokerError('unavailable', 'streams are not simulated'));
  }

  serve(service: string, handlers: BusHandlers): () => void {
    this.#services.set(service, handlers);
    return () => {
      if (this.#services.get(service) === handlers) this.#services.delete(service);
    };
  }

  async close(): Promise<void> {
    this.#services.clear();
    await Promise.resolve();
  }
}
