/** Where a running broker listens. */
export interface Endpoints {
  /** `http://host:port` */
  readonly aws: string;
  /** `host:port` */
  readonly pubsub: string;
  /** `amqp://user:password@host:port` */
  readonly amqp: string;
  /** `host:port` */
  readonly native: string;
}

/** What every producer sends: a body and one attribute, in whatever way its protocol calls it. */
export interface Message {
  readonly body: Buffer;
  readonly attribute: { readonly name: string; readonly value: string };
}

/** A program that sends with the SDK of its protocol, unmodified. */
export interface Producer {
  readonly name: ProducerName;
  /** Whether bodies may be any bytes; else they are text. */
  readonly takesBytes: boolean;
  send(message: Message): Promise<void>;
  close(): Promise<void>;
}

/** A message as a consumer's SDK shows it. */
export interface Received {
  readonly body: Buffer;
  /** Whether the body came as base64, because the protocol has no bytes. */
  readonly wasBase64: boolean;
  /** Attributes, headers or tags; AMQP's content type as `amqp.content-type`. */
  readonly attributes: ReadonlyMap<string, string>;
  /** What the sender said besides: native metadata, or the AMQP header that carries it. */
  readonly metadata: string | undefined;
  readonly id: string;
  /** Undefined where the protocol does not tell. */
  readonly receiveCount: number | undefined;
  readonly isRedelivered: boolean | undefined;
  accept(): Promise<void>;
  /** Not done: to be delivered again. */
  giveBack(): Promise<void>;
}

/** A program that consumes with the SDK of its protocol, unmodified. */
export interface Consumer {
  readonly name: ConsumerName;
  receive(): Promise<Received>;
  close(): Promise<void>;
}

export const PRODUCERS = ['SQS', 'SNS', 'Pub/Sub', 'AMQP', 'native'] as const;
export const CONSUMERS = ['SQS', 'Pub/Sub', 'AMQP', 'native'] as const;
export type ProducerName = (typeof PRODUCERS)[number];
export type ConsumerName = (typeof CONSUMERS)[number];

/** The names one queue has: what each protocol makes of it. One is the channel, the others are aliases of it. */
export function channelsOf(queue: string): {
  readonly channel: string;
  readonly aliases: readonly [pubsub: string, amqp: string, native: string];
} {
  return { channel: `sqs.${queue}`, aliases: [`gcp.sub.${queue}`, `amqp.default.${queue}`, queue] };
}
