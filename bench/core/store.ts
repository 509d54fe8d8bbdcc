import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SystemClock } from '../../src/base/clock.js';
import { silentLog } from '../../src/base/log.js';
import { openBroker, type OpenBroker } from '../../src/core/broker.js';
import { channelName, type ChannelName } from '../../src/core/channel-name.js';
import type { OutgoingMessage } from '../../src/core/message.js';
import { openDiskJournal } from '../../src/journal/disk/index.js';
import { BODY_BYTES, writeSequence } from '../client/body.js';

/** The broker on a disk store, as the product opens it but without connectors. */
export async function openStore(folder: string): Promise<OpenBroker> {
  const clock = new SystemClock();
  const journal = await openDiskJournal({ directory: folder, clock, log: silentLog });
  return openBroker({ journal, clock, log: silentLog });
}

export async function makeQueue(
  broker: OpenBroker,
  name: string,
  marks: readonly string[] = [],
): Promise<ChannelName> {
  const channel = channelName(name);
  await broker.change([{ do: 'create-queue', channel, settings: { subChannelMarks: marks } }]);
  return channel;
}

/** A message whose body carries `sequence`; every one has bytes of its own, as messages from a socket do. */
export function message(channel: ChannelName, sequence: number): OutgoingMessage {
  const body = Buffer.allocUnsafe(BODY_BYTES);
  body.fill(0x78);
  writeSequence(body, 0, sequence);
  return { channel, body };
}

/** Throws unless every outcome is a success. */
export async function sendAll(broker: OpenBroker, messages: readonly OutgoingMessage[]): Promise<void> {
  for (const outcome of await broker.send(messages)) if (!outcome.ok) throw outcome.error;
}

/** `outstanding` producers, each with one durable send of one message open; gives the number sent. */
export async function produce(
  broker: OpenBroker,
  outstanding: number,
  next: () => OutgoingMessage | undefined,
): Promise<number> {
  let sent = 0;
  await Promise.all(
    Array.from({ length: outstanding }, async () => {
      for (let one = next(); one !== undefined; one = next()) {
        for (const outcome of await broker.send([one])) if (!outcome.ok) throw outcome.error;
        sent++;
      }
    }),
  );
  return sent;
}

/** Drops a store's files from the page cache where the system's dd can, so that opening reads the disk. */
export function dropPageCache(folder: string): boolean {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return files.every((entry) => {
    const path = join(entry.parentPath, entry.name);
    const args = [`of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'];
    return spawnSync('dd', ['if=/dev/null', ...args], { stdio: 'ignore' }).status === 0;
  });
}
