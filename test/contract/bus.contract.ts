import { afterEach, describe, expect, it } from 'vitest';
import type { Bus, BusStream, Member } from '../../src/cluster/contract.js';
import { BrokerError } from '../../src/core/errors.js';

/** Two members of one cluster, each with its bus. */
export interface BusPair {
  readonly one: { readonly self: Member; readonly bus: Bus };
  readonly two: { readonly self: Member; readonly bus: Bus };
  dispose(): Promise<void>;
}

/** What every Bus between two members promises. */
export function busContract(name: string, make: () => Promise<BusPair>): void {
  describe(`bus contract: ${name}`, () => {
    let pair: BusPair;
    const open = async (): Promise<BusPair> => (pair = await make());
    afterEach(() => pair.dispose());

    const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

    it('carries a request to its service and the reply back, and says who asks', async () => {
      const { one, two } = await open();
      two.bus.serve('echo', {
        request: async (from, body) => Buffer.from(`${from.id === one.self.id} ${text(body)}`),
      });
      const reply = await one.bus.request(two.self, 'echo', Buffer.from('hello'), 5000);
      expect(text(reply)).toBe('true hello');
    });

    it('carries empty and very large bodies unchanged', async () => {
      const { one, two } = await open();
      two.bus.serve('echo', { request: async (_, body) => body });
      for (const size of [0, 1, 5_000_000]) {
        const body = Buffer.alloc(size, 'abcdefghi');
        const reply = await one.bus.request(two.self, 'echo', body, 10_000);
        expect(Buffer.compare(reply, body)).toBe(0);
      }
    });

    it('answers many requests at once, each with its own reply', async () => {
      const { one, two } = await open();
      two.bus.serve('echo', { request: async (_, body) => body });
      const asked = Array.from({ length: 500 }, (_, i) => `${i}`);
      const replies = await Promise.all(
        asked.map((i) => one.bus.request(two.self, 'echo', Buffer.from(i), 10_000)),
      );
      expect(replies.map(text)).toEqual(asked);
    });

    it('keeps the order of requests that one member sends', async () => {
      const { one, two } = await open();
      const seen: string[] = [];
      two.bus.serve('note', {
        request: async (_, body) => {
          seen.push(text(body));
          return body;
        },
      });
      const sent = Array.from({ length: 100 }, (_, i) => `${i}`);
      await Promise.all(sent.map((i) => one.bus.request(two.self, 'note', Buffer.from(i), 10_000)));
      expect(seen).toEqual(sent);
    });

    it('brings a failure of the service back as its kind', async () => {
      const { one, two } = await open();
      two.bus.serve('refuse', {
        request: async () => {
          throw new BrokerError('not-found', 'no such thing');
        },
      });
      await expect(one.bus.request(two.self, 'refuse', Buffer.from(''), 5000)).rejects.toMatchObject({
        kind: 'not-found',
        message: 'no such thing',
      });
    });

    it('is unavailable for a service nobody serves, a member nobody is, and an answer that does not come', async () => {
      const { one, two } = await open();
      const unavailable = { kind: 'unavailable' };
      await expect(one.bus.request(two.self, 'none', Buffer.from(''), 5000)).rejects.toMatchObject(
        unavailable,
      );
      await expect(one.bus.request({ id: 'nobody' }, 'x', Buffer.from(''), 5000)).rejects.toMatchObject(
        unavailable,
      );
      await expect(one.bus.open({ id: 'nobody' }, 'x')).rejects.toMatchObject(unavailable);
      await expect(one.bus.open(two.self, 'none')).rejects.toMatchObject(unavailable);
      two.bus.serve('silent', { request: () => new Promise(() => undefined) });
      await expect(one.bus.request(two.self, 'silent', Buffer.from(''), 50)).rejects.toMatchObject(
        unavailable,
      );
    });

    it('serves a name once, and no longer when it is taken back', async () => {
      const { one, two } = await open();
      const remove = two.bus.serve('x', { request: async () => Buffer.from('old') });
      expect(() => two.bus.serve('x', {})).toThrow(BrokerError);
      remove();
      remove();
      two.bus.serve('x', { request: async () => Buffer.from('new') });
      expect(text(await one.bus.request(two.self, 'x', Buffer.from(''), 5000))).toBe('new');
    });

    it('streams chunks both ways, in order and with their borders, to the end', async () => {
      const { one, two } = await open();
      two.bus.serve('double', {
        stream: async (_, stream) => {
          for (;;) {
            const chunk = await stream.read();
            if (chunk === undefined) return;
            await stream.write(Buffer.from(text(chunk).repeat(2)));
          }
        },
      });
      const stream = await one.bus.open(two.self, 'double');
      const sizes = [1, 10, 100_000, 700_000, 3];
      const sending = (async () => {
        for (const size of sizes) await stream.write(Buffer.alloc(size, 'z'));
        stream.end();
      })();
      const received: number[] = [];
      for (let chunk = await stream.read(); chunk !== undefined; chunk = await stream.read())
        received.push(chunk.byteLength);
      await sending;
      expect(received).toEqual(sizes.map((size) => size * 2));
    });

    it('holds a writer back while the reader does not read', async () => {
      const { one, two } = await open();
      let peer: BusStream | undefined;
      let finish = (): void => undefined;
      two.bus.serve('slow', {
        stream: (_, stream) => {
          peer = stream;
          return new Promise<void>((resolve) => (finish = resolve));
        },
      });
      const stream = await one.bus.open(two.self, 'slow');
      let written = 0;
      const chunk = Buffer.alloc(256 * 1024, 'q');
      const writing = (async () => {
        for (let i = 0; i < 64; i++) {
          await stream.write(chunk);
          written += 1;
        }
        stream.end();
      })();
      // Time for whatever would come through without credit.
      await one.bus.request(two.self, 'none', Buffer.from(''), 5000).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(written).toBeLessThan(32);
      let read = 0;
      while ((await peer!.read()) !== undefined) read += 1;
      await writing;
      expect(read).toBe(64);
      finish();
    });

    it('fails both ends of a stream whose service fails', async () => {
      const { one, two } = await open();
      two.bus.serve('break', {
        stream: async (_, stream) => {
          await stream.read();
          throw new BrokerError('precondition', 'enough');
        },
      });
      const stream = await one.bus.open(two.self, 'break');
      await stream.write(Buffer.from('x'));
      await expect(stream.read()).rejects.toMatchObject({ kind: 'precondition' });
      await expect(stream.write(Buffer.from('y'))).rejects.toMatchObject({ kind: 'precondition' });
    });

    it('fails both ends of a stream that is given up, what was read before excepted', async () => {
      const { one, two } = await open();
      let peer: BusStream | undefined;
      let ended = (): void => undefined;
      const failed = new Promise<void>((resolve) => (ended = resolve));
      two.bus.serve('left', {
        stream: async (_, stream) => {
          peer = stream;
          for (;;) await stream.read().catch(() => Promise.reject((ended(), new Error('gone'))));
        },
      });
      const stream = await one.bus.open(two.self, 'left');
      await stream.write(Buffer.from('x'));
      const reading = stream.read();
      stream.abort();
      await expect(reading).rejects.toMatchObject({ kind: 'unavailable' });
      await expect(stream.write(Buffer.from('y'))).rejects.toMatchObject({ kind: 'unavailable' });
      await failed;
      await expect(peer!.write(Buffer.from('z'))).rejects.toMatchObject({ kind: 'unavailable' });
    });

    it('fails what waits when it closes, and carries nothing afterwards', async () => {
      const { one, two } = await open();
      two.bus.serve('silent', { request: () => new Promise(() => undefined) });
      const waiting = one.bus.request(two.self, 'silent', Buffer.from(''), 60_000);
      const heard = expect(waiting).rejects.toBeInstanceOf(BrokerError);
      await one.bus.close();
      await one.bus.close();
      await heard;
      await expect(one.bus.request(two.self, 'silent', Buffer.from(''), 100)).rejects.toBeInstanceOf(
        BrokerError,
      );
    });
  });
}
