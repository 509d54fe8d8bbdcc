import type { OpenBroker } from '../../src/core/broker.js';
import type { Journal } from '../../src/core/ports/journal.js';
import type { FencedStream } from '../../src/journal/jetstream/stream.js';
import type { SendOutcome } from '../../src/core/queue/types.js';

/** Mistakes that a simulation can be told to make, to show that it would find them. None of them is in the product. */
export const BUGS = [
  /** The stream takes what a deposed owner writes. */
  'no-fencing',
  /** The stream of checkpoints does. */
  'no-fencing-of-checkpoints',
  /** A send is confirmed before its entry is stored. */
  'confirmed-before-append',
  /** An owner answers from memory whether or not its lease has ended. */
  'lease-not-checked',
  /** A new owner begins without the last entry of the one before. */
  'tail-not-replayed',
  /** A batch goes out in several entries. */
  'torn-batch',
  /** That a message is not there is believed of a server, and what is behind it of another one. */
  'absence-believed',
  /** A send that is tried again is another message. */
  'tried-again-is-new',
] as const;
export type Bug = (typeof BUGS)[number];

/** The same object with some methods of it replaced. */
function replaced<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get: (_, key) => {
      const own = methods[key as keyof T];
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

export function withBrokerBug(broker: OpenBroker, bug: Bug | undefined): OpenBroker {
  if (bug === 'confirmed-before-append') {
    return replaced(broker, {
      send: (messages, options) => {
        broker.send(messages, options).catch(() => undefined);
        return Promise.resolve(messages.map(() => ({ ok: true }) as SendOutcome));
      },
    });
  }
  if (bug === 'torn-batch') {
    return replaced(broker, {
      send: async (messages, options) => {
        const outcomes: SendOutcome[] = [];
        for (const message of messages) outcomes.push(...(await broker.send([message], options)));
        return outcomes;
      },
    });
  }
  return broker;
}

export function withStreamBug(stream: FencedStream, bug: Bug | undefined): FencedStream {
  if (bug !== 'absence-believed') return stream;
  return replaced(stream, {
    next: async (seq) => {
      const lastSeq = await stream.lastSeq();
      return (await stream.get(seq)) ?? (lastSeq > seq ? stream.next(seq + 1) : undefined);
    },
  });
}

export function withJournalBug(journal: Journal, bug: Bug | undefined): Journal {
  if (bug !== 'tail-not-replayed') return journal;
  return replaced(journal, {
    replay: async (from, visit) => {
      let held: (() => void) | undefined;
      await journal.replay(from, (position, payload) => {
        held?.();
        held = () => visit(position, payload);
      });
    },
  });
}
