import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProbe } from './probe-run.js';
import { PROBES } from './probes/index.js';
import { rabbitMqInstalled, startRabbitMq } from './rabbitmq.js';

/**
 * Asks this machine's RabbitMQ what it answers to the probes and writes it to `rabbitmq-3.10-answers.json`, which the tests
 * compare us with: `npm run record:amqp` for those without an answer, `npm run record:amqp -- text…` for those whose name
 * holds one of the texts.
 */
const FILE = join(import.meta.dirname, 'rabbitmq-3.10-answers.json');

async function record(wanted: readonly string[]): Promise<void> {
  const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, readonly string[]>;
  const names = Object.keys(PROBES).filter((name) =>
    wanted.length === 0 ? recorded[name] === undefined : wanted.some((text) => name.includes(text)),
  );
  const rabbit = await startRabbitMq();
  try {
    for (const name of names) {
      const answers = await runProbe(name, rabbit);
      recorded[name] = answers;
      process.stdout.write(`${name}\n${answers.map((answer) => `    ${answer}\n`).join('')}`);
    }
  } finally {
    await rabbit.stop();
  }
  const inOrder = Object.fromEntries(
    Object.keys(PROBES).flatMap((name) => (recorded[name] === undefined ? [] : [[name, recorded[name]]])),
  );
  // Prettier's form follows with `npm run format`.
  writeFileSync(FILE, `${JSON.stringify(inOrder, undefined, 2)}\n`);
}

if (!rabbitMqInstalled) throw new Error('RabbitMQ is not installed: see the Debian package rabbitmq-server');
await record(process.argv.slice(2));
