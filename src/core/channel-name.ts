import { BrokerError } from './errors.js';

declare const channelNameBrand: unique symbol;

/** A checked channel name such as `sqs.orders`. Case-sensitive; `.` separates tokens. */
export type ChannelName = string & { readonly [channelNameBrand]: true };

/** Longest channel name, in UTF-8 bytes. Connectors may be stricter. */
export const CHANNEL_NAME_BYTES_MAX = 1024;

// White space of every kind, control characters, wildcards and the multicast separator.
// eslint-disable-next-line no-control-regex -- control characters are exactly what is refused
const ILLEGAL = /[\s\u0000-\u001f\u007f*>;]/u;

/** Why `name` is no channel name, or undefined when it is one. */
export function channelNameFault(name: string): string | undefined {
  if (name === '') return 'a channel name cannot be empty';
  if (name.endsWith('.')) return 'a channel name cannot end with "."';
  if (ILLEGAL.test(name)) {
    return 'a channel name cannot contain white space, control characters, "*", ">" or ";"';
  }
  if (!isWellFormed(name)) return 'a channel name must be valid Unicode';
  if (name.length > CHANNEL_NAME_BYTES_MAX || Buffer.byteLength(name) > CHANNEL_NAME_BYTES_MAX) {
    return `a channel name is at most ${String(CHANNEL_NAME_BYTES_MAX)} bytes`;
  }
  return undefined;
}

/** Checks a name; throws `invalid-argument` naming the fault. */
export function channelName(name: string): ChannelName {
  const fault = channelNameFault(name);
  if (fault !== undefined) throw new BrokerError('invalid-argument', fault);
  return name as ChannelName;
}

// String.prototype.isWellFormed is not in the ES2023 library yet.
function isWellFormed(text: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}
