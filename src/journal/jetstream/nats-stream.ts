import {
  DeliverPolicy,
  DiscardPolicy,
  jetstream,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type JetStreamClient,
  type JetStreamManager,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { BrokerError } from '../../core/errors.js';
import { PublishError, type Expected, type FencedStream, type StoredMessage } from './stream.js';

const REQUEST_TIMEOUT_MS = 2_000;
/** Without a message for that long a read gives up. */
const READ_IDLE_MS = 10_000;
/** Bytes a read has under way. */
const READ_BYTES = 16 << 20;
/** JetStream's codes for: no space in the stream, in the account, on the server. */
const FULL: ReadonlySet<number> = new Set([10077, 10047, 10023, 10028, 10122]);

export interface NatsStreamOptions {
  readonly nc: NatsConnection;
  readonly name: string;
  /** What the stream takes, may end in `>`. */
  readonly subject: string;
  readonly replicas: number;
  /** Bytes the stream may hold; undefined = whatever the servers have. */
  readonly bytesMax?: number | undefined;
}

/** Opens a stream, making it when there is none. Rejects with `precondition` when it cannot be as asked. */
export async function openNatsStream(options: NatsStreamOptions): Promise<FencedStream> {
  const { nc, name, subject, replicas, bytesMax } = options;
  const jsm = await jetstreamManager(nc, { timeout: REQUEST_TIMEOUT_MS * 2 });
  try {
    await jsm.streams.info(name);
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound)
      throw failed(error);
    try {
      await jsm.streams.add({
        name,
        subjects: [subject],
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        num_replicas: replicas,
        discard: DiscardPolicy.New,
        ...(bytesMax === undefined ? {} : { max_bytes: bytesMax }),
      });
    } catch (refused) {
      const why = refused instanceof Error ? refused.message : String(refused);
      throw new BrokerError(
        'precondition',
        `the stream ${name} cannot be made with ${replicas} replicas: ${why}`,
        {
          cause: refused,
        },
      );
    }
  }
  return new NatsStream(nc, jsm, name);
}

class NatsStream implements FencedStream {
  readonly payloadBytesMax: number;
  readonly #jsm: JetStreamManager;
  readonly #js: JetStreamClient;
  readonly #name: string;

  constructor(nc: NatsConnection, jsm: JetStreamManager, name: string) {
    this.#jsm = jsm;
    this.#js = jetstream(nc, { timeout: REQUEST_TIMEOUT_MS });
    this.#name = name;
    this.payloadBytesMax = nc.info?.max_payload ?? 1 << 20;
  }

  async publish(subject: string, payload: Uint8Array, expected: Expected): Promise<number> {
    const { lastSeq, lastSubjectSeq } = expected;
    try {
      const ack = await this.#js.publish(subject, payload, {
        retries: 0,
        timeout: REQUEST_TIMEOUT_MS,
        expect: {
          streamName: this.#name,
          ...(lastSeq === undefined ? {} : { lastSequence: lastSeq }),
          ...(lastSubjectSeq === undefined ? {} : { lastSubjectSequence: lastSubjectSeq }),
        },
      });
      return ack.seq;
    } catch (error) {
      const code = error instanceof JetStreamApiError ? error.code : 0;
      const fault =
        code === JetStreamApiCodes.StreamWrongLastSequence ? 'conflict' : FULL.has(code) ? 'full' : 'unknown';
      throw new PublishError(fault, error instanceof Error ? error.message : String(error), { cause: error });
    }
  }

  async get(seq: number): Promise<StoredMessage | undefined> {
    return this.#message({ seq });
  }

  async last(subject: string): Promise<StoredMessage | undefined> {
    return this.#message({ last_by_subj: subject });
  }

  async #message(query: { seq: number } | { last_by_subj: string }): Promise<StoredMessage | undefined> {
    const found = await this.#jsm.streams.getMessage(this.#name, query);
    return found === null ? undefined : { seq: found.seq, subject: found.subject, payload: found.data };
  }

  async lastSeq(): Promise<number> {
    return (await this.#jsm.streams.info(this.#name)).state.last_seq;
  }

  async read(from: number, to: number, visit: (message: StoredMessage) => void): Promise<void> {
    if (from > to) return;
    const consumer = await this.#js.consumers.get(this.#name, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: from,
    });
    const messages = await consumer.consume({ max_bytes: READ_BYTES });
    let timer: NodeJS.Timeout | undefined;
    let isDone = false;
    const stop = (): void => void messages.close();
    const arm = (): void => {
      clearTimeout(timer);
      timer = setTimeout(stop, READ_IDLE_MS);
    };
    try {
      arm();
      for await (const message of messages) {
        arm();
        if (message.seq <= to) visit({ seq: message.seq, subject: message.subject, payload: message.data });
        isDone = message.seq >= to;
        if (isDone) break;
      }
    } finally {
      clearTimeout(timer);
      await messages.close();
      await consumer.delete().catch(() => undefined);
    }
    if (!isDone) throw new BrokerError('unavailable', `the stream ${this.#name} cannot be read`);
  }

  async purge(subject: string): Promise<void> {
    await this.#jsm.streams.purge(this.#name, { filter: subject });
  }

  async subjects(): Promise<readonly string[]> {
    const info = await this.#jsm.streams.info(this.#name, { subjects_filter: '>' });
    return Object.keys(info.state.subjects ?? {});
  }

  async freeBytes(): Promise<number | undefined> {
    const { config, state } = await this.#jsm.streams.info(this.#name);
    return config.max_bytes > 0 ? Math.max(0, config.max_bytes - state.bytes) : undefined;
  }
}

function failed(error: unknown): BrokerError {
  const why = error instanceof Error ? error.message : String(error);
  return new BrokerError('unavailable', `JetStream does not answer: ${why}`, { cause: error });
}
