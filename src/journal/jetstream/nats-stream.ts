import {
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
/** Messages a read asks for ahead, and how often it asks for one. */
const READS_IN_FLIGHT = 32;
const READ_TRIES = 30;
const READ_RETRY_MS = 200;
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
        allow_direct: true,
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
    const first = (await this.#jsm.streams.info(this.#name)).state.first_seq;
    const asked: Promise<StoredMessage | undefined>[] = [];
    let next = Math.max(from, first);
    try {
      for (let seq = next; seq <= to; seq++) {
        while (asked.length < READS_IN_FLIGHT && next <= to) asked.push(this.#readOne(next++, to));
        const message = await asked.shift();
        if (message !== undefined) visit(message);
      }
    } finally {
      // What is still under way when one failed is nobody's any more.
      await Promise.allSettled(asked);
    }
  }

  /** Any replica may answer, and one may lag: that a message is not there counts only when the leader says so, who has the one at `to`. */
  async #readOne(seq: number, to: number): Promise<StoredMessage | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        const found = await this.#jsm.direct.getMessage(this.#name, { seq });
        if (found !== null) return { seq: found.seq, subject: found.subject, payload: found.data };
        if ((await this.get(to)) === undefined)
          throw new Error('the leader does not have the last message yet');
        return await this.get(seq);
      } catch (error) {
        if (tries >= READ_TRIES) throw failed(error);
        await new Promise((resolve) => setTimeout(resolve, READ_RETRY_MS));
      }
    }
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
