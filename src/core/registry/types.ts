import type { ChannelName } from '../channel-name.js';
import type { LogSettings } from '../log/types.js';
import type { QueueSettings } from '../queue/types.js';

/** A connector's own resource (an SQS queue, a topic, an exchange): JSON value under a kind and key, with a version. */
export interface RegistryEntry<T = unknown> {
  readonly kind: string;
  readonly key: string;
  readonly value: T;
  /** 1 at creation, +1 a write. */
  readonly version: number;
}

/** `expected`: compare-and-set. 0 = must not exist, n = must be at this version, absent = whatever is there. */
export type Change =
  | {
      readonly do: 'put';
      readonly kind: string;
      readonly key: string;
      readonly value: unknown;
      readonly expected?: number;
    }
  | { readonly do: 'remove'; readonly kind: string; readonly key: string; readonly expected?: number }
  /** Makes a queue; `ifMissing` leaves an existing one (and its settings) alone, else it is `already-exists`. */
  | {
      readonly do: 'create-queue';
      readonly channel: ChannelName;
      readonly settings?: Partial<QueueSettings>;
      readonly ifMissing?: boolean;
    }
  | { readonly do: 'update-queue'; readonly channel: ChannelName; readonly settings: Partial<QueueSettings> }
  /** Deletes the queue, its sub-channels and all messages. A missing one is fine. */
  | { readonly do: 'delete-queue'; readonly channel: ChannelName }
  | {
      readonly do: 'create-log';
      readonly channel: ChannelName;
      readonly settings?: Partial<LogSettings>;
      readonly ifMissing?: boolean;
    }
  | { readonly do: 'update-log'; readonly channel: ChannelName; readonly settings: Partial<LogSettings> }
  | { readonly do: 'delete-log'; readonly channel: ChannelName }
  /** `alias` becomes another name of `channel`. Refused while `alias` is a channel of its own. */
  | { readonly do: 'set-alias'; readonly alias: ChannelName; readonly channel: ChannelName }
  | { readonly do: 'remove-alias'; readonly alias: ChannelName };

/** Read side of the registry. Writes go through `Broker.change`. */
export interface RegistryView {
  get<T>(kind: string, key: string): RegistryEntry<T> | undefined;
  /** All of a kind, by key in code unit order. */
  list<T>(kind: string): readonly RegistryEntry<T>[];
  /** Called after each committed write of the kind, also another node's. Value undefined = removed. Returns the un-watch. */
  watch(kind: string, seen: (key: string, entry: RegistryEntry | undefined) => void): () => void;
}
