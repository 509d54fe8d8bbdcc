import { afterAll, describe, expect, it } from 'vitest';
import { connectClients, subscriptionName, topicName, type Clients } from '../interop/gcp/clients.js';
import { temporaryFolder } from '../support/folder.js';
import { spawnBroker } from '../support/process.js';
import { randomFrom } from '../support/random.js';

const KILLS = Number(process.env['FAULT_KILLS'] ?? 2);
const KEYS = 5;
/** Another one each day, the same all day. */
const SEED = Number(process.env['FAULT_SEED'] ?? Math.floor(Date.now() / 86_400_000));

const folder = temporaryFolder();
afterAll(() => folder.remove());

/** Publishes numbers with keys, one after the other, until the broker is gone; what was confirmed is in the set. */
async function publishUntilGone(
  { publisher }: Clients,
  from: number,
  confirmed: Set<number>,
): Promise<number> {
  for (let n = from; ; n++) {
    const message = { data: Buffer.from(String(n)), orderingKey: `k${n % KEYS}` };
    try {
      await publisher.publish(
        { topic: topicName('sought'), messages: [message] },
        { timeout: 2000, retry: null },
      );
      confirmed.add(n);
    } catch {
      return n + 1;
    }
  }
}

/** Pulls, acknowledges and seeks back until the broker is gone. */
async function seekUntilGone({ subscriber }: Clients): Promise<void> {
  const subscription = subscriptionName('sought');
  const options = { timeout: 2000, retry: null };
  try {
    for (;;) {
      const pull = { subscription, maxMessages: 50, returnImmediately: true };
      const [{ receivedMessages }] = await subscriber.pull(pull, options);
      const ackIds = (receivedMessages ?? []).map(({ ackId }) => ackId ?? '');
      if (ackIds.length > 0) await subscriber.acknowledge({ subscription, ackIds }, options);
      await subscriber.seek({ subscription, time: { seconds: 1_000_000_000 } }, options);
    }
  } catch {
    // Killed.
  }
}

async function drain({ subscriber }: Clients): Promise<number[]> {
  const subscription = subscriptionName('sought');
  const seen: number[] = [];
  for (;;) {
    const [{ receivedMessages }] = await subscriber.pull({
      subscription,
      maxMessages: 1000,
      returnImmediately: true,
    });
    if (receivedMessages === undefined || receivedMessages === null || receivedMessages.length === 0)
      return seen;
    seen.push(...receivedMessages.map(({ message }) => Number(String(message?.data))));
    const ackIds = receivedMessages.map(({ ackId }) => ackId ?? '');
    await subscriber.acknowledge({ subscription, ackIds });
  }
}

describe('killed in the middle of a seek', () => {
  it(`loses nothing and keeps the order of keys (seed ${SEED})`, { timeout: 240_000 }, async () => {
    const random = randomFrom(SEED);
    const confirmed = new Set<number>();
    let next = 0;
    for (let round = 0; round <= KILLS; round++) {
      const broker = await spawnBroker({
        folder: folder.path,
        environment: { CONNECTORS_GCP_ENABLE: 'true' },
        args: [],
      });
      const clients = connectClients(broker.port('gcp'));
      try {
        if (round === 0) {
          await clients.publisher.createTopic({ name: topicName('sought') });
          await clients.subscriber.createSubscription({
            name: subscriptionName('sought'),
            topic: topicName('sought'),
            enableMessageOrdering: true,
            retainAckedMessages: true,
          });
        } else {
          // A whole replay: all that was ever confirmed, each key in its order.
          const time = { seconds: 1_000_000_000 };
          await clients.subscriber.seek({ subscription: subscriptionName('sought'), time });
          const seen = await drain(clients);
          expect([...confirmed].filter((n) => !seen.includes(n))).toEqual([]);
          expect(new Set(seen).size).toBe(seen.length);
          for (let key = 0; key < KEYS; key++) {
            const own = seen.filter((n) => n % KEYS === key);
            expect(own).toEqual([...own].sort((a, b) => a - b));
          }
        }
        if (round === KILLS) continue;
        const killed = new Promise((resolve) => setTimeout(resolve, 150 + random.next() * 600)).then(() =>
          broker.kill(),
        );
        [next] = await Promise.all([
          publishUntilGone(clients, next, confirmed),
          seekUntilGone(clients),
          killed,
        ]);
      } finally {
        await broker.kill();
        await clients.close().catch(() => undefined);
      }
    }
    expect(confirmed.size).toBeGreaterThan(KILLS);
  });
});
