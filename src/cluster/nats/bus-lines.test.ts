import type { NatsConnection } from '@nats-io/transport-node';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import type { BusStream } from '../contract.js';
import { BUS_LIMITS } from './bus-limits.js';
import { BusLines } from './bus-lines.js';
import { FrameSender } from './frame-sender.js';
import { decodeFrame, FrameKind, type Frame } from './frames.js';

/** Two nodes and what is between them: frames arrive in order, unless they are lost. */
class Way {
  readonly clock = new ManualClock();
  /** Frames that get lost from now on. */
  loses: (frame: Frame) => boolean = () => false;
  readonly served: BusStream[] = [];
  readonly a = this.#node('a', () => this.b);
  readonly b = this.#node('b', () => this.a);
  readonly sent: Frame[] = [];
  readonly #ends: (() => void)[] = [];

  #node(self: string, peer: () => BusLines): BusLines {
    const publish = (_subject: string, bytes: Uint8Array): void => {
      const frame = decodeFrame(bytes);
      if (frame === undefined) throw new Error('no frame');
      this.sent.push(frame);
      if (this.loses(frame)) return;
      queueMicrotask(() => {
        if (frame.kind === FrameKind.open) peer().onOpen(frame);
        else peer().onFrame(frame);
      });
    };
    const nc = { publish, info: { max_payload: 1 << 20 } } as unknown as NatsConnection;
    const stream = async (_from: unknown, served: BusStream): Promise<void> => {
      this.served.push(served);
      await new Promise<void>((resolve) => this.#ends.push(resolve));
    };
    return new BusLines(new FrameSender(nc, self, 'p'), () => ({ stream }), this.clock);
  }

  /** Opens a stream from a to b; both its ends. */
  async open(): Promise<readonly [BusStream, BusStream]> {
    const here = await this.a.open(1, { id: 'b' }, 'service');
    return [here, this.served.at(-1) as BusStream];
  }

  probes(): number {
    return this.sent.filter(({ kind }) => kind === FrameKind.probe).length;
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= BUS_LIMITS.probeMs) {
      this.clock.advance(BUS_LIMITS.probeMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const REST_MS = BUS_LIMITS.probeMs * BUS_LIMITS.probesAtRest;
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

describe('a stream between two nodes', () => {
  let way: Way;
  beforeEach(() => {
    way = new Way();
  });

  it('goes on as long as nothing is lost', async () => {
    const [here, there] = await way.open();
    for (let i = 0; i < 20; i++) {
      await here.write(Buffer.from(`to ${i}`));
      await there.write(Buffer.from(`back ${i}`));
      if (i % 3 === 0) await way.pass(BUS_LIMITS.probeMs);
      expect(text(await there.read())).toBe(`to ${i}`);
      expect(text(await here.read())).toBe(`back ${i}`);
    }
    await way.pass(REST_MS * 2);
    expect(way.probes()).toBeGreaterThan(4);
    await here.write(Buffer.from('last'));
    expect(text(await there.read())).toBe('last');
  });

  it.each([
    ['the last part of what was said', FrameKind.data],
    ['room that was given', FrameKind.credit],
  ])('fails at both ends when %s is lost, and nothing comes after it', async (_, kind) => {
    const [here, there] = await way.open();
    await here.write(Buffer.from('one'));
    expect(text(await there.read())).toBe('one');
    way.loses = (frame) => frame.kind === kind;
    await here.write(Buffer.from('two'));
    const read = there.read();
    // Of room nobody reads until more is written.
    if (kind === FrameKind.credit) expect(text(await read)).toBe('two');
    const failures = [here.read(), kind === FrameKind.credit ? there.read() : read].map((waiting) =>
      expect(waiting).rejects.toMatchObject({ kind: 'unavailable' }),
    );
    way.loses = () => false;
    await way.pass(BUS_LIMITS.probeMs * 2);
    await Promise.all(failures);
  });

  it.each(['a', 'b'] as const)('fails when the other end (%s) is gone and could not say so', async (gone) => {
    const [here, there] = await way.open();
    await way.pass(REST_MS);
    const waiting = gone === 'a' ? there.read() : here.read();
    const failed = expect(waiting).rejects.toMatchObject({ kind: 'unavailable' });
    way.loses = () => true;
    const own = expect((gone === 'a' ? here : there).read()).rejects.toMatchObject({ kind: 'unavailable' });
    way[gone].failAll(new BrokerError('unavailable', 'the connection broke'));
    await own;
    way.loses = () => false;
    await way.pass(REST_MS);
    await failed;
  });

  it('costs nothing when there is none, and little while it rests', async () => {
    await way.pass(REST_MS * 4);
    expect(way.probes()).toBe(0);
    await way.open();
    await way.pass(REST_MS);
    const before = way.probes();
    await way.pass(REST_MS * 3);
    // Both ends ask once in that time.
    expect(way.probes() - before).toBe(2 * 3);
  });
});
