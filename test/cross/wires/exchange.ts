import { expectedAttribute, expectedMetadata } from './expected.js';
import type { Consumer, Message, Producer, Received } from './wire.js';

/**
 * One message from a producer to a consumer: received, given back, received again, accepted. Returns what was not as it should
 * be; rejects when something does not happen at all.
 */
export async function exchange(
  producer: Producer,
  consumer: Consumer,
  message: Message,
  timeoutMs: number,
): Promise<readonly string[]> {
  await within(timeoutMs, `${producer.name} did not confirm the send`, producer.send(message));
  const first = await within(timeoutMs, `nothing arrived at ${consumer.name}`, consumer.receive());
  const faults = [...faultsOf(first, producer, consumer, message)];
  if ((first.receiveCount ?? 1) !== 1 || first.isRedelivered === true)
    faults.push('the first delivery was not the first');
  await first.giveBack();
  const second = await within(timeoutMs, 'given back, it did not come again', consumer.receive());
  faults.push(...faultsOf(second, producer, consumer, message).map((fault) => `again: ${fault}`));
  if (second.id !== first.id) faults.push('another message came instead of the one given back');
  if ((second.receiveCount ?? 2) !== 2 || second.isRedelivered === false)
    faults.push('the second delivery was not marked');
  await second.accept();
  return faults;
}

function faultsOf(received: Received, producer: Producer, consumer: Consumer, sent: Message): string[] {
  const faults: string[] = [];
  if (!received.body.equals(sent.body)) faults.push('the body changed on the way');
  const { name, value } = expectedAttribute(producer.name, consumer.name, sent);
  const found = received.attributes.get(name);
  if (found !== value) faults.push(`attribute ${name} is ${found ?? 'missing'}, not ${value}`);
  const metadata = expectedMetadata(producer.name, consumer.name, sent);
  if (received.metadata !== metadata) {
    faults.push(`the metadata is ${received.metadata ?? 'missing'}, not ${metadata ?? 'absent'}`);
  }
  return faults;
}

async function within<T>(timeoutMs: number, fault: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${fault} within ${timeoutMs / 1000} s`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
