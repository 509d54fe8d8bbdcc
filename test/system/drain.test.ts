import { afterEach, describe, expect, it } from 'vitest';
import { AmqpConnection } from '../../bench/client/amqp.js';
import { NativeConnection } from '../../bench/client/native.js';
import { PubSubConnection } from '../../bench/client/pubsub.js';
import { SqsConnection, type SqsReceived } from '../../bench/client/sqs.js';
import { NativePoller } from '../fault/native-poller.js';
import { openWires, type Wire } from '../fault/wires.js';
import { temporaryFolder } from '../support/folder.js';
import { spawnBroker, type BrokerProcess } from '../support/process.js';

const NAME = 'drained';
/** Sends that are through on every protocol before the signal comes. */
const SENT_MIN = 20;

describe('SIGTERM while clients of every protocol are at work', () => {
  const store = temporaryFolder();
  const closing: (() => unknown)[] = [];
  let broker: BrokerProcess | undefined;

  afterEach(async () => {
    for (const close of closing.splice(0)) close();
    await broker?.kill();
    store.remove();
  });

  it('ends their waits and streams in their own words, and the process with 0; what was confirmed is there', async () => {
    // A drain that somebody held up would be told of after this long, or not end in the time of the test.
    broker = await spawnBroker({ folder: store.path, environment: { SHUTDOWN_GRACE_MS: '600000' } });
    const before = broker.lines.length;
    const waits = await waitOnEveryWire(broker, (close) => closing.push(close));
    const wires = await openWires(broker, NAME);
    closing.push(() => wires.forEach((wire) => wire.close()));
    const stored = new Map<string, Set<number>>(wires.map(({ name }) => [name, new Set()]));
    const senders = wires.map((wire) => sendUntilRefused(wire, stored.get(wire.name) ?? new Set()));
    while ([...stored.values()].some(({ size }) => size < SENT_MIN)) await turn();

    expect(await broker.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    await Promise.all(senders);
    expect(await waits.ended).toEqual({
      sqs: [],
      amqp: expect.stringMatching(/320.*CONNECTION_FORCED/),
      pubsub: expect.stringMatching(/^14 .*should be recreated/),
      native: 0,
    });
    expect(broker.errorOutput()).toBe('');
    expect(broker.lines.slice(before).filter(({ level }) => level === 'warn' || level === 'error')).toEqual(
      [],
    );

    for (const wire of wires) for (const taken of wire.close()) stored.get(wire.name)?.delete(taken);
    broker = await spawnBroker({ folder: store.path });
    const again = await openWires(broker, NAME);
    closing.push(() => again.forEach((wire) => wire.close()));
    for (const wire of again) {
      const left = stored.get(wire.name) ?? new Set();
      for (let empty = 0; left.size > 0 && empty < 15;) {
        const sequence = await wire.receive();
        if (sequence === undefined) empty++;
        else left.delete(sequence);
      }
      expect([...left], `${wire.name}: confirmed and lost`).toEqual([]);
    }
  });
});

/** One wait of each protocol for what never comes; gives how each ended. */
async function waitOnEveryWire(broker: BrokerProcess, onOpen: (close: () => void) => void) {
  const sqs = await SqsConnection.open(broker.port('aws'));
  onOpen(() => sqs.close());
  const queueUrl = await sqs.createQueue('idle');
  const polled = sqs.call<{ Messages?: SqsReceived[] }>('ReceiveMessage', {
    QueueUrl: queueUrl,
    WaitTimeSeconds: 20,
  });

  const amqpClosed = deferredText();
  const amqp = await AmqpConnection.open({ port: broker.port('amqp'), onClose: amqpClosed.end });
  onOpen(() => amqp.close());
  await amqp.declareQueue('idle');
  await amqp.consume('idle');

  const pubsub = await PubSubConnection.open(broker.port('gcp'));
  onOpen(() => pubsub.close());
  await pubsub.createTopic('projects/p/topics/idle');
  await pubsub.createSubscription('projects/p/subscriptions/idle', 'projects/p/topics/idle');
  const pullEnded = deferredText();
  pubsub.streamingPull({
    subscription: 'projects/p/subscriptions/idle',
    onMessages: () => undefined,
    onEnd: ({ status, message }) => pullEnded.end(`${status} ${message}`),
  });

  const native = await NativeConnection.open(broker.port('native-grpc'));
  onOpen(() => native.close());
  const got = new NativePoller(native).get('idle', 1, 600_000);

  const ended = Promise.all([polled, amqpClosed.text, pullEnded.text, got]).then(
    ([{ Messages = [] }, amqpText, pubsubText, poll]) => ({
      sqs: Messages,
      amqp: amqpText,
      pubsub: pubsubText,
      native: poll.messages.length,
    }),
  );
  ended.catch(() => undefined);
  // In an object: a promise would be waited for.
  return { ended };
}

function deferredText(): { readonly text: Promise<string>; readonly end: (text: string) => void } {
  let end = (_: string): void => undefined;
  const text = new Promise<string>((resolve) => (end = resolve));
  return { text, end: (reason) => end(reason) };
}

/** Sends one after the other for as long as they are stored. */
async function sendUntilRefused(wire: Wire, stored: Set<number>): Promise<void> {
  for (let sequence = 0; ; sequence++) {
    const fate = await wire.send(sequence).catch((error: unknown) => ({ wrong: String(error) }));
    if (fate !== 'stored') return;
    stored.add(sequence);
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
