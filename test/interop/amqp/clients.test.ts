import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { CLIENT_SCENARIOS } from './client-scenarios.js';

let server: AmqpServer;
beforeAll(async () => {
  server = await startAmqpServer();
});
afterAll(() => server.stop());

describe('unmodified clients', () => {
  for (const { name, run, skip } of CLIENT_SCENARIOS) {
    it.skipIf(skip === true)(name, async () => {
      await run(server.port);
      expect(server.logged).toEqual([]);
    });
  }

  it('leave no queue behind', async () => {
    // Some go seconds after their last use.
    await expect.poll(() => server.broker.queues('amqp.'), { timeout: 20_000 }).toEqual([]);
  });
});
