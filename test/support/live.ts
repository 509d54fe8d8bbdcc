import { ManualClock } from '../../src/base/clock.js';
import { SeededIds } from '../../src/base/ids.js';
import { silentLog, type Log } from '../../src/base/log.js';
import { Scheduler, Timeouts } from '../../src/base/scheduler.js';
import type { ChannelName } from '../../src/core/channel-name.js';
import { LiveService } from '../../src/core/live/live-service.js';
import type { LiveMessage, LiveReply, NewEvent, NewRequest } from '../../src/core/live/types.js';
import { NO_TAGS } from '../../src/core/message.js';
import { NO_PEERS, type LivePeers } from '../../src/core/ports/live-peers.js';

const NONE = new Uint8Array(0);

/** Live traffic on a clock that is moved by hand. */
export function service(
  options: { clock?: ManualClock; peers?: LivePeers; log?: Log; resolve?: (name: string) => string } = {},
): { live: LiveService; clock: ManualClock } {
  const clock = options.clock ?? new ManualClock();
  const scheduler = new Scheduler(clock);
  const timeouts = new Timeouts();
  scheduler.add(timeouts);
  const peers = options.peers ?? NO_PEERS;
  const live = new LiveService({
    clock,
    scheduler,
    timeouts,
    ids: new SeededIds(Buffer.from(peers.self).reduce((sum, byte) => sum * 31 + byte, 7)),
    log: options.log ?? silentLog,
    peers,
    resolve: (name) => (options.resolve?.(name) ?? name) as ChannelName,
  });
  return { live, clock };
}

/** A sink that can be shut. */
export class Inbox<T extends LiveMessage> {
  open = true;
  readonly messages: T[] = [];
  take(message: T): void {
    this.messages.push(message);
  }
  get bodies(): string[] {
    return this.messages.map(({ body }) => Buffer.from(body).toString());
  }
}

export function event(channel: string, body = 'x'): NewEvent {
  return {
    id: 'e',
    clientId: 'c',
    channel: channel as ChannelName,
    metadata: '',
    tags: NO_TAGS,
    body: Buffer.from(body),
  };
}

export function request(channel: string, change: Partial<NewRequest> = {}): NewRequest {
  return { ...event(channel), kind: 'queries', timeoutMs: 1000, cache: undefined, trace: NONE, ...change };
}

export function reply(body = 'done', change: Partial<LiveReply> = {}): LiveReply {
  return {
    clientId: 'r',
    metadata: '',
    tags: NO_TAGS,
    body: Buffer.from(body),
    executed: true,
    error: '',
    stamp: 1n,
    trace: NONE,
    isCached: false,
    ...change,
  };
}

export function listen(live: LiveService, pattern: string, group = ''): Inbox<LiveMessage> {
  const sink = new Inbox<LiveMessage>();
  live.subscribe({ pattern, group, sink });
  return sink;
}

export const text = (answer: LiveReply | undefined): string | undefined =>
  answer === undefined ? undefined : Buffer.from(answer.body).toString();
