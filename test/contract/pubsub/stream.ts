import { create, fromBinary, toBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { streamingPull } from '../../../src/connectors/gcp/subscriber/streaming-pull.js';
import * as pubsub from '../../../src/connectors/gcp/wire/gen/google/pubsub/v1/pubsub_pb.js';
import { HOT_CODECS } from '../../../src/connectors/gcp/wire/hot-codecs.js';
import { subscriptionName, type World } from './fixture.js';

type Fields = MessageInitShape<typeof pubsub.StreamingPullRequestSchema>;

/** The server's side of a stream, without a network. */
export class Stream {
  readonly #listeners = new Map<string, (message?: unknown) => void>();
  responses: pubsub.StreamingPullResponse[] = [];
  failure: unknown;
  /** What a peer that reads nothing leaves in the transport. */
  readonly unread: (() => void)[] = [];

  constructor(world: World, subscription: string, more: Fields = {}, reads = true) {
    streamingPull(world.services)({
      on: (event: string, listener: (message?: unknown) => void) => this.#listeners.set(event, listener),
      write: (bytes: Uint8Array, accepted?: () => void) => {
        this.responses.push(fromBinary(pubsub.StreamingPullResponseSchema, bytes));
        if (reads) accepted?.();
        else if (accepted !== undefined) this.unread.push(accepted);
        return reads;
      },
      end: () => undefined,
      fail: (status: unknown) => (this.failure = status),
    } as never);
    this.send({ subscription: subscriptionName(subscription), streamAckDeadlineSeconds: 10, ...more });
  }

  send(fields: Fields): void {
    const request = create(pubsub.StreamingPullRequestSchema, fields);
    const codec = HOT_CODECS['google.pubsub.v1.StreamingPullRequest'];
    this.#listeners.get('data')?.(codec.decode(toBinary(pubsub.StreamingPullRequestSchema, request)));
  }

  close(): void {
    this.#listeners.get('close')?.();
  }

  get texts(): string[] {
    return this.responses.flatMap(({ receivedMessages }) =>
      receivedMessages.map(({ message }) => Buffer.from(message?.data ?? []).toString()),
    );
  }
}

/** What the queue hands out at the end of the turn has come. */
export const turns = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
};
