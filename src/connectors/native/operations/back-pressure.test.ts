import { describe, expect, it } from 'vitest';
import type { BidiCall } from '../../kit/grpc-call.js';
import { NATIVE_LIMITS } from '../limits.js';
import type { NativeService } from '../service.js';
import { newCounters } from '../service.js';
import type { Event, QueuesUpstreamRequest } from '../wire/messages.js';
import { queuesUpstream } from './queues-upstream.js';
import { sendEventsStream } from './send-events-stream.js';

/** A peer that sends as long as it is read from, and reads what it is answered unless told otherwise. */
class Peer<Request> {
  readonly answers: unknown[] = [];
  isRead = true;
  reads = true;
  readonly #listeners = new Map<string, ((request: Request) => void)[]>();

  on(event: string, listener: (request: Request) => void): void {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
  }
  emit(event: string, request?: Request): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(request as Request);
  }
  pause(): void {
    this.isRead = false;
  }
  resume(): void {
    this.isRead = true;
  }
  write(answer: unknown): boolean {
    this.answers.push(answer);
    return this.reads;
  }
  end(): void {
    this.emit('close');
  }
  fail(): void {
    this.emit('close');
  }

  /** Sends until it is not read from any more, or `most` are sent; says how many that were. */
  sendWhileRead(request: Request, most: number): number {
    let sent = 0;
    for (; sent < most && this.isRead; sent++) this.emit('data', { ...request });
    return sent;
  }
}

/** A disk that takes nothing until it is told to. */
class Disk {
  readonly #waiting: (() => void)[] = [];
  async take<T>(results: readonly T[]): Promise<readonly T[]> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return results;
  }
  async write(): Promise<void> {
    for (const write of this.#waiting.splice(0)) write();
    await turn();
  }
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function serviceWith(disk: Disk): NativeService {
  const sessions = { draining: false, enter: () => () => undefined };
  const broker = {
    append: (events: readonly unknown[]) => disk.take(events.map((_, i) => ({ id: String(i), sequence: 1 }))),
    send: (messages: readonly unknown[]) =>
      disk.take(messages.map((_, i) => ({ ok: true, id: String(i), sequence: 1, sentAt: 1 }))),
  };
  return { broker, sessions, counters: newCounters(), ids: { uuid: () => 'id' } } as unknown as NativeService;
}

const none = new Map<string, string>();
const eventOf = (bytes: number): Event => ({
  eventId: 'e',
  clientId: 'c',
  channel: 'l',
  metadata: '',
  body: new Uint8Array(bytes),
  store: true,
  tags: none,
});
const { unconfirmedPerStreamMax, unconfirmedBytesPerStreamMax } = NATIVE_LIMITS;
const BIG = 1024 * 1024;

describe('a stream of stored events', () => {
  it.each([
    ['events', 1, unconfirmedPerStreamMax],
    ['bytes', BIG, unconfirmedBytesPerStreamMax / BIG],
  ])('is not read from while too many %s wait for the disk', async (_what, bytes, most) => {
    const disk = new Disk();
    const peer = new Peer<Event>();
    sendEventsStream(serviceWith(disk), { confirmLive: false })(peer as unknown as BidiCall<Event, never>);
    // The first batch is on its way to the disk when the second is gathered.
    peer.emit('data', eventOf(bytes));
    await turn();
    expect(peer.sendWhileRead(eventOf(bytes), most * 2)).toBe(most);
    await disk.write();
    expect(peer.answers).toHaveLength(1);
    await disk.write();
    expect(peer.answers).toHaveLength(1 + most);
    expect(peer.isRead).toBe(true);
  });

  it('is not read from while its peer reads no results', async () => {
    const disk = new Disk();
    const peer = new Peer<Event>();
    sendEventsStream(serviceWith(disk), { confirmLive: false })(peer as unknown as BidiCall<Event, never>);
    peer.reads = false;
    peer.emit('data', eventOf(1));
    await turn();
    await disk.write();
    expect(peer.answers).toHaveLength(1);
    expect(peer.sendWhileRead(eventOf(1), unconfirmedPerStreamMax * 2)).toBe(unconfirmedPerStreamMax);
    peer.reads = true;
    peer.emit('drain');
    await turn();
    await disk.write();
    expect(peer.isRead).toBe(true);
  });
});

describe('a stream of messages for queues', () => {
  const requestOf = (messages: number, bytes: number): QueuesUpstreamRequest => ({
    requestId: 'r',
    messages: Array.from({ length: messages }, () => ({
      messageId: 'm',
      clientId: 'c',
      channel: 'q',
      metadata: '',
      body: new Uint8Array(bytes),
      tags: none,
      policy: undefined,
    })) as unknown as QueuesUpstreamRequest['messages'],
  });

  it.each([
    ['messages', 128, 1, unconfirmedPerStreamMax / 128],
    ['bytes', 1, BIG, unconfirmedBytesPerStreamMax / BIG],
  ])('is not read from while too many %s wait for the disk', async (_what, messages, bytes, most) => {
    const disk = new Disk();
    const peer = new Peer<QueuesUpstreamRequest>();
    queuesUpstream(serviceWith(disk))(peer as unknown as BidiCall<QueuesUpstreamRequest, never>);
    expect(peer.sendWhileRead(requestOf(messages, bytes), most * 2)).toBe(most);
    await disk.write();
    expect(peer.answers).toHaveLength(most);
    expect(peer.isRead).toBe(true);
  });
});
