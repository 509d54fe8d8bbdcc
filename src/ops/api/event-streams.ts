import type { FastifyInstance } from 'fastify';
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Clock, Timer } from '../../base/clock.js';
import { BrokerError } from '../../core/errors.js';
import type { LiveMessage, LiveSink, LiveSubscription, LiveTraffic } from '../../core/live/types.js';
import type { ApiClients } from './clients.js';
import { messageJson, readBody } from './message-json.js';

/** An empty line shows that the stream lives while nothing comes. */
export const EVENTS_BEAT_MS = 10_000;
/** Streams that are open at once. */
export const EVENT_STREAMS_MAX = 100;

const streamQuery = z.object({ group: z.string().default('') });

/** Live events over HTTP, for as long as the client stays. */
export class EventStreams {
  readonly #clients: ApiClients;
  readonly #clock: Clock;
  readonly #open = new Set<EventStream>();
  #isClosed = false;

  constructor(clients: ApiClients, clock: Clock) {
    this.#clients = clients;
    this.#clock = clock;
  }

  /**
   * - `GET /api/v1/events/{pattern}?group=` → JSON, one event a line as it comes, with empty lines in between; when the broker ends
   *   it, the last line is `{ error, message }`
   */
  addTo(app: FastifyInstance): void {
    const options = { exposeHeadRoute: false };
    app.get<{ Params: { pattern: string }; Querystring: unknown }>(
      '/api/v1/events/:pattern',
      options,
      async (request, reply) => {
        const { group } = readBody(streamQuery, request.query);
        if (this.#isClosed) throw new BrokerError('draining', 'the broker shuts down');
        if (this.#open.size >= EVENT_STREAMS_MAX)
          throw new BrokerError('unavailable', 'too many streams of events are open');
        const { live } = this.#clients.brokerOf(request);
        const stream = new EventStream(reply.raw, this.#clock);
        // Refused before anything is written: what is wrong is answered as for every call.
        stream.subscribe(live, request.params.pattern, group);
        reply.hijack();
        this.#open.add(stream);
        const forget = this.#clients.watch(request, (refusal) => stream.end(refusal));
        reply.raw.once('close', () => {
          forget();
          stream.leave();
          this.#open.delete(stream);
        });
        stream.begin();
      },
    );
  }

  /** Tells every client that it is over. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#open) stream.end(new BrokerError('draining', 'the broker shuts down'));
  }
}

/** One client. One that does not read is the broker's affair: what is too much for it is dropped. */
class EventStream implements LiveSink<LiveMessage> {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  #subscription: LiveSubscription | undefined;
  #beat: Timer | undefined;

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
  }

  subscribe(live: LiveTraffic, pattern: string, group: string): void {
    this.#subscription = live.subscribe({ pattern, group, sink: this });
  }

  begin(): void {
    this.#response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
    this.#response.flushHeaders();
    this.#response.on('drain', () => this.#subscription?.resume());
    this.#beatLater();
  }

  get open(): boolean {
    return !this.#response.writableNeedDrain;
  }

  take(event: LiveMessage): void {
    const { channel, sentAt } = event;
    this.#response.write(`${JSON.stringify({ ...messageJson(event), channel, sentAt })}\n`);
  }

  end(reason: BrokerError): void {
    this.leave();
    this.#response.end(`${JSON.stringify({ error: reason.kind, message: reason.message })}\n`);
  }

  leave(): void {
    this.#beat?.cancel();
    this.#subscription?.cancel();
    this.#subscription = undefined;
  }

  #beatLater(): void {
    this.#beat = this.#clock.after(EVENTS_BEAT_MS, () => {
      if (this.open) this.#response.write('\n');
      this.#beatLater();
    });
  }
}
