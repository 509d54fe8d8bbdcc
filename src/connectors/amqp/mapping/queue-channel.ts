import { channelNameFault } from '../../../core/channel-name.js';
import type { ChannelName } from '../../../core/channel-name.js';
import { ReplyError } from '../wire/reply.js';

/** First token of every channel of this connector. */
const PREFIX = 'amqp.';

/** Longest channel name of a queue, prefix and virtual host included (seed: channel mapping, constraints). */
const CHANNEL_CHARS_MAX = 255;

/** Characters that a channel name may not hold (seed: channel mapping, constraints). */
// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused
const ILLEGAL = /[;:*>\s\u0000-\u001f\u007f]/u;

export interface NameRules {
  /** The segment that stands for the virtual host `/`. */
  readonly defaultVhost: string;
  /** False: illegal characters are percent-encoded instead of refused. */
  readonly strict: boolean;
}

/** Maps virtual hosts and queues to channels: queue `q` of virtual host `v` is channel `amqp.{v}.{q}`. */
export class QueueChannelMapping {
  readonly #rules: NameRules;

  constructor(rules: NameRules) {
    this.#rules = rules;
  }

  /**
   * The segment of a virtual host's name. A `.` in it is always percent-encoded, because two virtual hosts would else
   * share channels. Refused with 402 (the whole connection): illegal characters, the reserved literal name of `/`.
   */
  vhostSegment(vhost: string): string {
    if (vhost === '/') return this.#rules.defaultVhost;
    if (vhost === '') throw new ReplyError(530, 'vhost  not found');
    if (vhost === this.#rules.defaultVhost) {
      throw new ReplyError(402, `vhost '${vhost}' is reserved: connect to '/'`);
    }
    if (this.#rules.strict) {
      const fault = nameFault(vhost);
      if (fault !== undefined) throw new ReplyError(402, `vhost name '${vhost}' ${fault}`);
      return vhost.replaceAll('.', '%2E');
    }
    return encodeIllegal(vhost).replaceAll('.', '%2E');
  }

  /** The channel of a queue. Refused with 406: illegal characters, a trailing `.`, more than 255 characters together. */
  channelOf(vhostSegment: string, queue: string): ChannelName {
    let segment = queue;
    if (this.#rules.strict) {
      const fault = nameFault(queue);
      if (fault !== undefined) throw new ReplyError(406, `queue name '${queue}' ${fault}`);
    } else {
      segment = encodeIllegal(queue);
    }
    const channel = `${PREFIX}${vhostSegment}.${segment}`;
    // Encoded names may be longer than what was sent; their bound is the broker's own.
    if (this.#rules.strict && channel.length > CHANNEL_CHARS_MAX) {
      throw new ReplyError(
        406,
        `the channel name of the queue is longer than ${CHANNEL_CHARS_MAX} characters`,
      );
    }
    const fault = channelNameFault(channel);
    if (fault !== undefined) throw new ReplyError(406, fault);
    return channel as ChannelName;
  }
}

function nameFault(name: string): string | undefined {
  if (ILLEGAL.test(name)) return "contains one of ';', ':', '*', '>' or white space";
  if (name.endsWith('.')) return "ends with '.'";
  return undefined;
}

/** Percent-encodes what a channel name cannot hold, `%` itself, and a trailing `.`. Different names stay different. */
function encodeIllegal(name: string): string {
  let out = '';
  for (const char of name) {
    out += char === '%' || ILLEGAL.test(char) ? encode(char) : char;
  }
  return out.endsWith('.') ? `${out.slice(0, -1)}%2E` : out;
}

function encode(char: string): string {
  let out = '';
  for (const byte of Buffer.from(char, 'utf8')) out += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return out;
}
