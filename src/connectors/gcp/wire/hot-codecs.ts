import {
  decodeAcknowledgeRequest,
  decodeModifyAckDeadlineRequest,
  decodePullRequest,
} from './acknowledge.js';
import { decodePublishRequest } from './publish.js';
import { decodeStreamingPullRequest } from './streaming-pull.js';

/** A codec for a message whose decoding this server has no use for, or whose encoding. */
interface Codec<T> {
  encode(value: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

function requestCodec<T>(decode: (bytes: Uint8Array) => T): Codec<T> {
  return {
    decode,
    encode: () => {
      throw new TypeError('requests are only read here');
    },
  };
}

/** Responses that operations encode themselves. */
const encodedAlready: Codec<Uint8Array> = { encode: (bytes) => bytes, decode: (bytes) => bytes };

/** Hand-made codecs of the messages of the hot path, by full type name. All others are generated. */
export const HOT_CODECS = {
  'google.pubsub.v1.PublishRequest': requestCodec(decodePublishRequest),
  'google.pubsub.v1.PublishResponse': encodedAlready,
  'google.pubsub.v1.PullRequest': requestCodec(decodePullRequest),
  'google.pubsub.v1.PullResponse': encodedAlready,
  'google.pubsub.v1.StreamingPullRequest': requestCodec(decodeStreamingPullRequest),
  'google.pubsub.v1.StreamingPullResponse': encodedAlready,
  'google.pubsub.v1.AcknowledgeRequest': requestCodec(decodeAcknowledgeRequest),
  'google.pubsub.v1.ModifyAckDeadlineRequest': requestCodec(decodeModifyAckDeadlineRequest),
};
