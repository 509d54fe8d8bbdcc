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
  type LastForMsgRequest,
  type NextMsgRequest,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { BrokerError } from '../../core/errors.js';
import { PublishError, type Expected, type FencedStream, type StoredMessage } from './stream.js';

const REQUEST_TIMEOUT_MS = 2_000;
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

  /** Any replica answers, without base64. */
  async get(seq: number): Promise<StoredMessage | undefined> {
    const found = await answered(this.#jsm.direct.getMessage(this.#name, { seq }));
    return found === null ? undefined : { seq: found.seq, subject: found.subject, payload: found.data };
  }

  /** Asked when a replica did not know: whoever leads is likelier to. */
  async next(seq: number): Promise<StoredMessage | undefined> {
    return this.#askLeader({ seq, next_by_subj: '>' });
  }

  async last(subject: string): Promise<StoredMessage | undefined> {
    return this.#askLeader({ last_by_subj: subject });
  }

  async #askLeader(query: NextMsgRequest | LastForMsgRequest): Promise<StoredMessage | undefined> {
    // The client's type knows a part of what this request may ask; the server takes both.
    const found = await answered(this.#jsm.streams.getMessage(this.#name, query as LastForMsgRequest));
    return found === null ? undefined : { seq: found.seq, subject: found.subject, payload: found.data };
  }

  async lastSeq(): Promise<number> {
    return (await answered(this.#jsm.streams.info(this.#name))).state.last_seq;
  }

  async purge(subject: string): Promise<void> {
    await answered(this.#jsm.streams.purge(this.#name, { filter: subject }));
  }

  async subjects(): Promise<readonly string[]> {
    const info = await answered(this.#jsm.streams.info(this.#name, { subjects_filter: '>' }));
    return Object.keys(info.state.subjects ?? {});
  }

  async freeBytes(): Promise<number | undefined> {
    const { config, state } = await answered(this.#jsm.streams.info(this.#name));
    return config.max_bytes > 0 ? Math.max(0, config.max_bytes - state.bytes) : undefined;
  }
}

async function answered<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    throw failed(error);
  }
}

function failed(error: unknown): BrokerError {
  const why = error instanceof Error ? error.message : String(error);
  return new BrokerError('unavailable', `JetStream does not answer: ${why}`, { cause: error });
}
