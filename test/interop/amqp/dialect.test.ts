import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AmqpServer } from './amqp-server.js';
import { startAmqpServer } from './amqp-server.js';
import { runProbe } from './probe-run.js';
import { PROBES } from './probes/index.js';
import recorded from './rabbitmq-3.10-answers.json' with { type: 'json' };

const ANSWERS: Readonly<Record<string, readonly string[]>> = recorded;

/** Where our answer differs on purpose (docs/protocols/amqp.md): what becomes of RabbitMQ's. */
const OURS: Readonly<Record<string, (text: string) => string | undefined>> = {
  // RabbitMQ before 4.2 returns what it has delivered.
  'direct reply-to: request and reply': (text) =>
    text.includes('"mandatory"') && text.startsWith('basic.return') ? undefined : text,
  // An internal error there, until 3.13 saw that the request is at fault.
  'default queue type: there is none of that name': (text) => text.replace('HTTP 500', 'HTTP 400'),
  // RabbitMQ sets both bits of every nack it sends, which says nothing: the tag is a single one's.
  'reject-publish': (text) => text.replace(/^(basic\.nack \d+) true true$/, '$1 false false'),
};

/** Headers that RabbitMQ has since 3.13, and the recorded answers do not. */
function asIn310(text: string): string {
  return text.replaceAll(/, x-last-death-\w+:S"[^"]*"/g, '');
}

/** A client's own x-death: RabbitMQ 3.10 told no first death then. */
const REPUBLISHED = 'dead letters: published again and rejected again';

let server: AmqpServer;
beforeAll(async () => {
  server = await startAmqpServer({
    config: { users: [{ name: 'guest', password: 'guest' }], managementEnable: true, managementPort: 0 },
  });
});
afterAll(() => server.stop());

const targetOf = ({ port, ports }: AmqpServer) => ({
  port,
  managementPort: ports.get('amqp-management') ?? 0,
});

describe('answers on the wire are those RabbitMQ gave', () => {
  for (const name of Object.keys(PROBES)) {
    it(name, async () => {
      const answers = ANSWERS[name] ?? [];
      const ours = answers.map(OURS[name] ?? ((text) => text)).filter((text) => text !== undefined);
      const got = (await runProbe(name, targetOf(server))).map(asIn310);
      const shown =
        name === REPUBLISHED ? got.map((text) => text.replaceAll(/, x-first-death-\w+:S"[^"]*"/g, '')) : got;
      expect(shown).toEqual(ours);
    });
  }

  it('and nothing was logged as failed', () => {
    expect(server.logged).toEqual([]);
  });
});
