import type { Client, Gatekeeper } from '../../core/access/gatekeeper.js';
import type { Broker } from '../../core/broker-api.js';
import type { Clock } from '../../base/clock.js';
import type { IdSource } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import type { Pieces } from '../kit/http1/pieces.js';
import type { Authentication } from './authentication.js';
import type { AwsConfig } from './config.js';
import type { Input } from './input.js';
import type { StringField } from './wire/json.js';
import type { StructureShape } from './wire/shape.js';
import type { MoveTasks } from './sqs/move-tasks.js';
import type { ReceiveAttempts } from './sqs/receive-attempts.js';
import type { QueueRegistry } from './sqs/queue-registry.js';
import type { Replays } from './sns/replays.js';
import type { TopicRegistry } from './sns/topic-registry.js';
import type { Signing } from './webhooks/signing.js';
import type { Webhooks } from './webhooks/webhooks.js';

/** Plain counters, read at scrape time. */
export interface AwsCounters {
  /** Requests that were refused or failed. */
  faults: number;
  /** Copies of published messages that a subscribed queue could not take. */
  fanOutDropped: number;
  /** Copies that went to a subscription's dead-letter queue instead. */
  fanOutDeadLettered: number;
  /** Messages that a subscription's filter kept from it. */
  fanOutFiltered: number;
}

/** What every operation works with. */
export interface AwsServices {
  /** The client's, for its messages and queues; the connector's own for topics. */
  readonly broker: Broker;
  readonly gate: Gatekeeper;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly log: Log;
  readonly config: AwsConfig;
  readonly authentication: Authentication;
  readonly queues: QueueRegistry;
  readonly topics: TopicRegistry;
  readonly replays: Replays;
  readonly signing: Signing;
  readonly webhooks: Webhooks;
  /** What links begin with where no client says by which host it reached us: the advertised URL, else localhost. */
  readonly origin: () => string;
  readonly moveTasks: MoveTasks;
  readonly attempts: ReceiveAttempts;
  readonly counters: AwsCounters;
}

/** One request, protocol taken off. */
export interface Call {
  readonly services: AwsServices;
  /** Who asks, as the access rules see it; undefined when there are none. */
  readonly client: Client | undefined;
  readonly input: Input;
  /**
   * The strings of the operation's long field, when they were left in the request: ASCII without a control character, quote or
   * backslash. In the input they are empty then.
   */
  readonly strings: readonly Buffer[] | undefined;
  /** Access key the request names; `anonymous` when it names none. */
  readonly senderId: string;
  /** The request is signed; where signatures are checked, the signature holds. */
  readonly signed: boolean;
  /** Scheme, host and port as the client sees them, no slash at the end. */
  readonly origin: string;
  /** Path of the request: may be a queue's. */
  readonly path: string;
  /** Value of a header field, its name in lower case. */
  header(name: string): string | undefined;
  /** Runs `work` with a signal that fires when the client leaves or the connector drains. */
  whileConnected<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** One operation of a service: what it takes, what it gives, what it does. */
export interface Operation<R = unknown> {
  readonly name: string;
  readonly input: StructureShape;
  /** Absent: gives nothing (no result element in XML, `{}` in JSON). */
  readonly output: StructureShape | undefined;
  /** Whether a request may come without a signature where others need one. Absent: no. */
  readonly allowsUnsigned?: (input: Input) => boolean;
  readonly run: (call: Call) => R | Promise<R>;
  /** The field that may be long, left in the request's bytes when it can be: see `Call.strings`. */
  readonly long?: StringField;
  /** A faster way to the JSON than JSON.stringify, for the hottest. */
  readonly toJson?: (result: R) => string | Pieces;
}

/** Keeps the result's type inside the operation's file. */
export function operation<R>(definition: Operation<R>): Operation {
  return definition as Operation;
}
