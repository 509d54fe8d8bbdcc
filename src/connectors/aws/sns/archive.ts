import type { LogSettings } from '../../../core/log/types.js';
import type { OutgoingMessage, StoredMessage } from '../../../core/message.js';
import type { Change } from '../../../core/registry/types.js';
import type { AwsConfig } from '../config.js';
import { archiveChannel } from '../names.js';
import { contentOf, webhookCopy } from '../webhooks/webhook-copy.js';
import { AttributeFault } from './attribute-fault.js';
import type { Content } from './publication.js';
import { jsonMap } from './topic-policy.js';

/** The archive of a FIFO topic: a log of what was published, for as many days as its ArchivePolicy says. */

const DAYS_MAX = 365;
const DAY_MS = 24 * 60 * 60 * 1000;
const PERIOD = 'MessageRetentionPeriod';

/** The normal form of an ArchivePolicy; '' for none. Throws AttributeFault. */
export function readArchivePolicy(value: string): string {
  const policy = jsonMap(value);
  if (policy === undefined) throw new AttributeFault('failed to parse JSON.');
  const unknown = Object.keys(policy).find((key) => key !== PERIOD);
  if (unknown !== undefined) throw new AttributeFault(`Attribute ${unknown.slice(0, 100)} is unknown.`);
  if (Object.keys(policy).length === 0) return '';
  const days = daysOf(policy[PERIOD]);
  if (days === undefined) {
    throw new AttributeFault(`${PERIOD} must be a whole number of days from 1 to ${DAYS_MAX}.`);
  }
  return JSON.stringify({ [PERIOD]: policy[PERIOD] });
}

/** Days may be a number or its text, as with AWS. */
function daysOf(value: unknown): number | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || !/^[1-9]\d{0,2}$/.test(text)) return undefined;
  return Number(text) <= DAYS_MAX ? Number(text) : undefined;
}

/** How long a topic's archive keeps what was published; undefined: it has none. */
export function archivedMs(attributes: Readonly<Record<string, string>>): number | undefined {
  const policy = attributes['ArchivePolicy'];
  const days = policy === undefined ? undefined : daysOf(jsonMap(policy)?.[PERIOD]);
  return days === undefined ? undefined : days * DAY_MS;
}

/** The changes that make a topic's archive what its attributes say it is to be. */
export function archiveChanges(
  topic: string,
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly Change[] {
  const channel = archiveChannel(topic);
  const [was, is] = [archivedMs(before), archivedMs(after)];
  if (was === is) return [];
  if (is === undefined) return [{ do: 'delete-log', channel }];
  const settings: Partial<LogSettings> = { retentionMs: is };
  return was === undefined
    ? [{ do: 'create-log', channel, settings }]
    : [{ do: 'update-log', channel, settings }];
}

/** A published message as the archive keeps it: what its subscribers get to see, and beside it where it stood. */
export function archivedEvent(config: AwsConfig, topic: string, content: Content): OutgoingMessage {
  const event = webhookCopy(archiveChannel(topic), config, topic, content);
  return { ...event, metadata: `${content.sequenceNumber ?? ''} ${content.dedupId ?? ''}` };
}

/** Reads `archivedEvent` back; undefined for what somebody else wrote there. */
export function archivedContent(message: StoredMessage): Content | undefined {
  const content = contentOf(message);
  const [sequenceNumber, dedupId] = message.metadata.split(' ');
  if (content === undefined || sequenceNumber === undefined || dedupId === undefined) return undefined;
  return { ...content, sequenceNumber, dedupId, replayed: true };
}
