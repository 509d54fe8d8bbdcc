import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { runProbe } from './probe-run.js';
import { PROBES } from './probes/index.js';
import recorded from './rabbitmq-3.10-answers.json' with { type: 'json' };

const ANSWERS: Readonly<Record<string, readonly string[]>> = recorded;

/** Where our answer differs on purpose (docs/protocols/amqp.md). */
const OURS: Readonly<Record<string, (text: string) => string | undefined>> = {
  // RabbitMQ has these headers since 3.13 (the recorded answers are 3.10's).
  'dead letters: rejected, expired, overflowed': withLastDeath,
  'dead letters that go round': withLastDeath,
  // RabbitMQ before 4.2 returns what it has delivered.
  'direct reply-to: request and reply': (text) =>
    text.includes('"mandatory"') && text.startsWith('basic.return') ? undefined : text,
  // RabbitMQ sets both bits of every nack it sends, which says nothing: the tag is a single one's.
  'reject-publish': (text) => text.replace(/^(basic\.nack \d+) true true$/, '$1 false false'),
};

function withLastDeath(text: string): string {
  const last = /x-first-death-(exchange:.*?, )x-first-death-(queue:.*?, )x-first-death-(reason:[^\]]*)/.exec(
    text,
  );
  if (last === null) return text;
  const [first, exchange, queue, reason] = last;
  return text.replace(
    first,
    `${first}, x-last-death-${exchange ?? ''}x-last-death-${queue ?? ''}x-last-death-${reason ?? ''}`,
  );
}

let server: AmqpServer;
beforeAll(async () => {
  server = await startAmqpServer();
});
afterAll(() => server.stop());

describe('answers on the wire are those RabbitMQ gave', () => {
  for (const name of Object.keys(PROBES)) {
    it(name, async () => {
      const answers = ANSWERS[name] ?? [];
      const ours = answers.map(OURS[name] ?? ((text) => text)).filter((text) => text !== undefined);
      expect(await runProbe(name, server.port)).toEqual(ours);
    });
  }

  it('and nothing was logged as failed', () => {
    expect(server.logged).toEqual([]);
  });
});
