import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT_SCENARIOS } from './client-scenarios.js';
import { runProbe } from './probe-run.js';
import { PROBES } from './probes/index.js';
import recorded from './rabbitmq-3.10-answers.json' with { type: 'json' };
import type { RabbitMq } from './rabbitmq.js';
import { rabbitMqInstalled, startRabbitMq } from './rabbitmq.js';

const ANSWERS: Readonly<Record<string, readonly string[]>> = recorded;

// The other half of the comparison: what is expected of us is what RabbitMQ does, today and on this machine.
describe.skipIf(!rabbitMqInstalled)('RabbitMQ itself', () => {
  let rabbit: RabbitMq;
  beforeAll(async () => {
    rabbit = await startRabbitMq();
  });
  afterAll(() => rabbit.stop());

  for (const { name, run, skip } of CLIENT_SCENARIOS) {
    it.skipIf(skip === true)(name, () => run(rabbit.port));
  }

  for (const name of Object.keys(PROBES)) {
    it(name, async () => {
      expect(await runProbe(name, rabbit)).toEqual(ANSWERS[name]);
    });
  }
});
