import { createServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunningBroker } from '../../src/app/index.js';
import { channelName } from '../../src/core/channel-name.js';
import { createMemoryJournal } from '../../src/journal/memory/index.js';
import { temporaryFolder } from '../support/folder.js';
import { startServer, urlOf, type ServerOptions } from '../support/server.js';

const queue = channelName('sqs.orders');
const body = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('startPolymq', () => {
  const started: RunningBroker[] = [];
  const folders: { remove(): void }[] = [];
  afterEach(async () => {
    for (const server of started.splice(0)) await server.stop(0);
    for (const folder of folders.splice(0)) folder.remove();
  });

  async function start(options: ServerOptions = {}): Promise<RunningBroker> {
    const server = await startServer(options);
    started.push(server);
    return server;
  }

  function folder(): string {
    const made = temporaryFolder();
    folders.push(made);
    return made.path;
  }

  it('opens only what is enabled, and the API always', async () => {
    const server = await start({ connectors: ['aws'] });
    expect(server.addresses.map(({ name }) => name)).toEqual(['aws', 'api']);
    expect(server.phase).toBe('serving');
    expect(() => server.address('amqp')).toThrow(/no listener amqp; there are: aws, api/);
  });

  it('stops once, and then nothing listens', async () => {
    const server = await start();
    const url = urlOf(server, 'api');
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    await Promise.all([server.stop(), server.stop()]);
    expect(server.phase).toBe('stopped');
    await expect(fetch(`${url}/ready`)).rejects.toThrow();
  });

  it('keeps messages over a restart', async () => {
    const path = folder();
    const first = await start({ connectors: [], folder: path });
    await first.broker.send([{ channel: queue, body: body('one') }], { createMissing: true });
    await first.stop();
    const second = await start({ connectors: [], folder: path });
    const [seen] = await second.broker.peek(queue, 10);
    expect(Buffer.from(seen!.message.body).toString()).toBe('one');
  });

  it('sets the configured aliases at every start', async () => {
    const path = folder();
    const config = { aliases: [{ alias: 'amqp.default.orders', channel: 'sqs.orders' }] };
    for (let round = 0; round < 3; round++) {
      const server = await start({ connectors: [], folder: path, config });
      expect(server.broker.aliases()).toEqual(config.aliases);
      expect(server.broker.resolve(channelName('amqp.default.orders'))).toBe(queue);
      await server.stop();
    }
  });

  it('moves an alias that the configuration moves, and names one it cannot make', async () => {
    const path = folder();
    const aliases = (alias: string, channel: string) => ({ aliases: [{ alias, channel }] });
    const first = await start({ connectors: [], folder: path, config: aliases('x.one', 'sqs.orders') });
    await first.broker.send([{ channel: queue, body: body('one') }], { createMissing: true });
    await first.stop();
    const second = await start({ connectors: [], folder: path, config: aliases('x.one', 'sqs.others') });
    expect(second.broker.resolve(channelName('x.one'))).toBe('sqs.others');
    await second.stop();
    const third = startServer({ connectors: [], folder: path, config: aliases('sqs.orders', 'sqs.others') });
    await expect(third).rejects.toThrow(/ALIASES.*sqs\.orders.*channel of its own/);
  });

  it('takes a journal from outside', async () => {
    const journal = createMemoryJournal();
    const server = await start({ connectors: [], journal });
    await server.broker.send([{ channel: queue, body: body('one') }], { createMissing: true });
    expect(journal.stats().entries).toBeGreaterThan(0);
  });

  it('says no and leaves nothing behind when a port is taken', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    const { port } = blocker.address() as AddressInfo;
    const path = folder();
    const config = { connectors: { amqp: { port } } };
    try {
      await expect(startServer({ folder: path, config })).rejects.toThrow(/amqp cannot start: .*EADDRINUSE/);
    } finally {
      blocker.close();
    }
    // The store's lock is free again, and so are the ports that were bound before.
    const again = await start({ folder: path });
    expect(again.phase).toBe('serving');
  });

  it('ends waits when it drains', async () => {
    const server = await start({ connectors: [] });
    const wait = server.broker.receive({
      channel: queue,
      max: 1,
      waitMs: 60_000,
      handOut: { kind: 'auto' },
      createMissing: true,
    });
    await server.stop();
    expect(await wait).toEqual([]);
  });

  it('is not ready while the store is short of space, and is again afterwards', async () => {
    const faults = { lowSpace: false };
    const server = await start({ connectors: [], journal: createMemoryJournal({ faults }) });
    const ready = async (): Promise<number> => (await fetch(`${urlOf(server, 'api')}/ready`)).status;
    expect(await ready()).toBe(200);
    faults.lowSpace = true;
    expect(await ready()).toBe(503);
    faults.lowSpace = false;
    expect(await ready()).toBe(200);
  });
});
