import type { Broker } from '../../../../core/broker-api.js';
import { ageMs, integerOf } from '../../mapping/queue-arguments.js';
import type { Queue } from '../../topology/types.js';
import type { FieldTable, FieldValue } from '../../wire/field-table.js';
import { ReplyError } from '../../wire/reply.js';

/**
 * The first event a consumer of a stream reads, from its `x-stream-offset`: `first`, `last`, `next` (also without one), an
 * offset, a timestamp, or a duration back from now such as `1h`. Offsets are sequences less one. 406 for anything else.
 */
export function streamSequence(
  parts: { readonly broker: Broker; readonly now: number; readonly vhost: string },
  queue: Queue,
  args: FieldTable,
): number {
  const { broker, now } = parts;
  const { channel } = queue;
  const field = args.get('x-stream-offset');
  const last = broker.logStats(channel)?.lastSequence ?? 0;
  if (field === undefined) return last + 1;
  if (field.tag === 'T') return broker.sequenceAt(channel, Number(field.value) * 1000);
  const offset = integerOf(field);
  if (offset !== undefined) return Math.max(offset, 0) + 1;
  const text = field.tag === 'S' ? Buffer.from(field.value).toString('utf8') : undefined;
  switch (text) {
    case 'first':
      return 1;
    case 'last':
      return Math.max(last, 1);
    case 'next':
      return last + 1;
    default: {
      const back = text === undefined ? undefined : ageMs(text);
      if (back === undefined) throw badOffset(field, queue, parts.vhost);
      return broker.sequenceAt(channel, now - back);
    }
  }
}

function badOffset(field: FieldValue, queue: Queue, vhost: string): ReplyError {
  const shown = field.tag === 'S' ? `"${Buffer.from(field.value).toString('utf8')}"` : field.tag;
  return new ReplyError(
    406,
    `invalid arg 'x-stream-offset' for queue '${queue.name}' in vhost '${vhost}': ${shown} is not one of first, last, next, an offset, a timestamp or an interval`,
  );
}
