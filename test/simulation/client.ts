import type { SimulatedBus } from '../support/simulated-bus.js';
import type { Call, SettleCall } from './node.js';
import { FIFO, PLAIN } from './queues.js';
import type { World } from './world.js';

const CALL_TIMEOUT_MS = 400;
const PAUSE_MS_MAX = 160;
const LARGE_BYTES = 5000;
/** How often a send without an answer is tried again. */
const SEND_TRIES = 4;

/** Sends, receives and settles through whichever node answers; every call may be lost, or done without its answer. */
export class SimulatedClient {
  readonly #world: World;
  readonly #name: string;
  readonly #bus: SimulatedBus;
  #node = 0;
  #sent = 0;

  constructor(world: World, name: string, bus: SimulatedBus) {
    this.#world = world;
    this.#name = name;
    this.#bus = bus;
    this.#run().catch((error: unknown) => world.fail(error));
  }

  async #run(): Promise<void> {
    const { random } = this.#world;
    while (!this.#world.isEnding) {
      await this.#pause(1 + random.below(PAUSE_MS_MAX));
      const dice = random.next();
      if (dice < 0.5) await this.#send();
      else await this.#receive();
    }
  }

  async #send(): Promise<void> {
    const { random, history } = this.#world;
    const batch = `${this.#name}.${this.#sent++}`;
    const isOrdered = random.chance(0.5);
    const messages = Array.from({ length: 1 + random.below(3) }, (_, i) => {
      const group = isOrdered ? `${this.#name}-${random.below(2)}` : '';
      return {
        id: `${batch}.${i}`,
        queue: isOrdered ? FIFO : PLAIN,
        group,
        channel: isOrdered ? `${FIFO}.g.${group}` : PLAIN,
        size: random.chance(0.04) ? LARGE_BYTES : random.below(200),
      };
    });
    history.asked(batch, messages);
    const isKnown = random.chance(0.5);
    const early = random.chance(0.7);
    const tries = isKnown ? SEND_TRIES : 1;
    const named = messages.map(({ id, channel, size }) => ({ id, channel, size }));
    for (let i = 0; i < tries; i++) {
      if (i > 0) await this.#pause(random.below(PAUSE_MS_MAX * 2));
      if ((await this.#call({ do: 'send', batch, messages: named, isKnown, early })) !== undefined) return;
    }
  }

  async #receive(): Promise<void> {
    const { random, history } = this.#world;
    const waits = random.chance(0.4);
    const found = await this.#call({
      do: waits && random.chance(0.5) ? 'consume' : 'receive',
      queue: random.chance(0.5) ? FIFO : PLAIN,
      max: 1 + random.below(4),
      waitMs: waits ? 100 + random.below(200) : 0,
      leaseMs: 100 + random.below(900),
    });
    if (found === undefined || random.chance(0.1)) return;
    const tokens = found as SettleCall['tokens'];
    if (tokens.length === 0) return;
    if (random.chance(0.3)) await this.#pause(random.below(300));
    if (random.chance(0.15)) {
      await this.#call({ do: random.chance(0.5) ? 'nack' : 'extend', durable: false, tokens });
      return;
    }
    history.ackAsked(tokens.map(({ id }) => id));
    await this.#call({ do: 'ack', durable: random.chance(0.6), tokens });
  }

  /** Undefined: no answer, or one that says to try again. */
  async #call(call: Call): Promise<unknown> {
    const { nodeNames, random } = this.#world;
    const member = { id: nodeNames[this.#node] as string };
    try {
      const body = Buffer.from(JSON.stringify(call));
      const reply = await this.#bus.request(member, 'broker', body, CALL_TIMEOUT_MS);
      return JSON.parse(Buffer.from(reply).toString()) as unknown;
    } catch {
      this.#node = (this.#node + 1 + random.below(nodeNames.length - 1)) % nodeNames.length;
      return undefined;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#bus.own.after(ms, resolve));
  }
}
