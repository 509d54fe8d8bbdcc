import { expect, it } from 'vitest';
import { RawAmqp } from '../../support/raw-amqp.js';
import { startAmqpServer } from './amqp-server.js';

it('acknowledgements to a node that owns the journal no more end their connection so that the client comes back', async () => {
  const tenure = { held: true };
  const server = await startAmqpServer({ tenure });
  const raw = await RawAmqp.open(server.port);
  await raw.declare('q', { durable: true });
  for (const body of ['a', 'b']) raw.publish('q', body);
  for (let i = 0; i < 2; i++) await raw.get('q', false);
  tenure.held = false;
  raw.send(1, 'basic.ack', { deliveryTag: 1, multiple: false });
  expect(await raw.answer()).toMatch(/^CONN 506 .*does not own the journal/);
  raw.send(0, 'connection.close-ok', {});
  expect(await raw.answer()).toBe('EOF');
  // Another one has it: that is no failure of this one.
  expect(server.logged).toEqual([]);
  tenure.held = true;
  await server.stop();
});
