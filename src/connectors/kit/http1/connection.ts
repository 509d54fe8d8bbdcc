import type { Socket } from 'node:net';
import type { Clock } from '../../../base/clock.js';
import { HttpExchange } from './exchange.js';
import type { Detached, ExchangeConnection } from './exchange.js';
import type { HttpLimits } from './limits.js';
import { Outbox } from './outbox.js';
import { HttpRefusal } from './refusal.js';
import type { RefusalStatus } from './refusal.js';
import { RequestParser } from './request-parser.js';
import type { ParsedRequest } from './request-parser.js';
import { CONTINUE } from './response.js';
import type { ResponseHeads } from './response.js';

/** What the connections of one server share. */
export interface ConnectionHost {
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly heads: ResponseHeads;
  onRequest(exchange: HttpExchange, isOversize: boolean): void;
  onRefusal(): void;
  onClose(connection: Http1Connection): void;
}

/**
 * One HTTP/1.1 connection: requests are handed out as they come, several at a time when they are pipelined, and
 * answered in their order. Answers of one turn go out in one write.
 */
export class Http1Connection implements ExchangeConnection {
  readonly #socket: Socket;
  readonly #host: ConnectionHost;
  readonly #parser: RequestParser;
  readonly #outbox: Outbox;
  /** Exchanges in the order of their requests, the answered ones before which others wait included. */
  #first: HttpExchange | undefined;
  #last: HttpExchange | undefined;
  #open = 0;
  #openBytes = 0;
  #flushScheduled = false;
  #advancing = false;
  /** No further request is taken; what is open is answered. */
  #closing = false;
  #draining = false;
  #refusal: RefusalStatus | undefined;
  #continueDue = false;
  #ended = false;
  #lingers = false;
  #blocked = false;
  #used = false;
  #peerEnded = false;
  /** The socket is somebody else's now. */
  #detached = false;
  readonly #listeners = {
    data: (chunk: Buffer): void => this.#onData(chunk),
    end: (): void => this.#onEnd(),
    drain: (): void => this.#onDrain(),
    close: (): void => this.#onClose(),
  };
  /** When the state began that the connection is in: idle, in a request, blocked or ended. Unix ms. */
  #since: number;

  constructor(socket: Socket, host: ConnectionHost) {
    this.#socket = socket;
    this.#host = host;
    this.#parser = new RequestParser(host.limits);
    this.#outbox = new Outbox(socket);
    this.#since = host.clock.now();
    socket.allowHalfOpen = true;
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on(event, listener);
    // Every error is followed by `close`.
    socket.on('error', () => undefined);
  }

  get socket(): Socket {
    return this.#socket;
  }

  detach(exchange: HttpExchange): Detached | undefined {
    const isAlone = exchange === this.#first && exchange === this.#last;
    if (!isAlone || this.peerGone || this.#ended || this.#detached) return undefined;
    this.#detached = true;
    this.#closing = true;
    for (const [event, listener] of Object.entries(this.#listeners)) this.#socket.off(event, listener);
    this.#host.onClose(this);
    return { socket: this.#socket, rest: this.#parser.takeRest() };
  }

  get closed(): boolean {
    return this.#socket.destroyed;
  }

  get peerGone(): boolean {
    return this.#peerEnded || this.closed;
  }

  /** Takes bytes that were read before the socket was handed over. */
  start(head: Buffer): void {
    if (head.length > 0) this.#onData(head);
    else this.#setReading(true);
  }

  /** Ends when all that is open is answered: an idle connection at once. */
  drain(): void {
    this.#draining = true;
    // Whoever has the socket ends it.
    if (this.#detached || this.#parser.phase !== 'idle') return;
    this.#closing = true;
    if (this.#open === 0) this.#end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Looks whether a time is over. */
  sweep(now: number): void {
    const { limits } = this.#host;
    const spent = now - this.#since;
    if (this.#ended) {
      const isSent = this.#socket.writableLength === 0;
      if (spent >= (isSent ? limits.lingerTimeoutMs : limits.unsentTimeoutMs)) this.destroy();
    } else if (this.#blocked) {
      if (spent >= limits.unsentTimeoutMs) this.destroy();
    } else if (this.#open === 0) {
      const { phase } = this.#parser;
      if (phase === 'head' && spent >= limits.headersTimeoutMs) this.#refuse(408);
      else if (phase === 'body' && spent >= limits.requestTimeoutMs) this.#refuse(408);
      else if (phase === 'idle' && spent >= this.#idleTimeoutMs()) this.#end();
    }
  }

  writeHead(exchange: HttpExchange, status: number, headers: readonly string[], length: number): string {
    const isLast = this.#closing && this.#refusal === undefined && exchange === this.#last;
    return this.#host.heads.write({
      status,
      headers,
      contentLength: status === 204 || status === 304 ? undefined : length,
      keepAlive: exchange.keepAlive && !isLast,
    });
  }

  onAnswer(exchange: HttpExchange): void {
    if (exchange !== this.#first) return;
    let next: HttpExchange | undefined = exchange;
    while (next?.text !== undefined) {
      this.#outbox.add(next.text, next.isAscii, next.bytes);
      this.#open--;
      this.#openBytes -= next.body.length;
      // Unlinked, so that who keeps an old exchange does not keep all that came after it.
      const following: HttpExchange | undefined = next.next;
      next.next = undefined;
      next = following;
    }
    this.#first = next;
    if (next === undefined) this.#last = undefined;
    if (this.#advancing) return;
    if (next === undefined) this.#advance();
    else this.#scheduleFlush();
  }

  #idleTimeoutMs(): number {
    const { headersTimeoutMs, keepAliveTimeoutMs } = this.#host.limits;
    return this.#used ? keepAliveTimeoutMs : headersTimeoutMs;
  }

  #onData(chunk: Buffer): void {
    // What comes after the end is read and forgotten, so that the peer gets to our answer.
    if (this.#ended || this.#closing) return;
    if (this.#open === 0 && this.#parser.phase === 'idle') this.#since = this.#host.clock.now();
    this.#parser.feed(chunk);
    this.#advance();
  }

  /** Takes requests while there are some and there is room, and writes what was answered meanwhile. */
  #advance(): void {
    let isFull;
    do {
      isFull = this.#takeRequests();
      this.#flush();
    } while (isFull && !this.#isFull() && !this.#closing);
  }

  /** Gives true when it stopped for want of room. */
  #takeRequests(): boolean {
    this.#advancing = true;
    try {
      while (!this.#closing) {
        if (this.#isFull()) return true;
        const request = this.#parser.next();
        if (request === undefined) break;
        this.#take(request);
      }
      if (this.#parser.takeAwaitsContinue()) this.#continueDue = true;
    } catch (error) {
      if (!(error instanceof HttpRefusal)) throw error;
      this.#refuse(error.status);
    } finally {
      this.#advancing = false;
    }
    return false;
  }

  #isFull(): boolean {
    const { pipelinedMax, pipelinedBytesMax, unsentBytesMax } = this.#host.limits;
    return (
      this.#blocked ||
      this.#open >= pipelinedMax ||
      this.#openBytes >= pipelinedBytesMax ||
      this.#outbox.bytes >= unsentBytesMax
    );
  }

  #take(request: ParsedRequest): void {
    const exchange = new HttpExchange(this, request);
    if (this.#last === undefined) this.#first = exchange;
    else this.#last.next = exchange;
    this.#last = exchange;
    this.#open++;
    this.#openBytes += exchange.body.length;
    this.#used = true;
    this.#continueDue = false;
    if (!request.keepAlive || this.#draining) this.#closing = true;
    this.#lingers ||= request.body === undefined;
    this.#host.onRequest(exchange, request.body === undefined);
  }

  #refuse(status: RefusalStatus): void {
    this.#host.onRefusal();
    this.#closing = true;
    this.#lingers = true;
    this.#refusal = status;
    if (!this.#advancing) this.#flush();
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    process.nextTick(() => {
      this.#flushScheduled = false;
      // The connection may have had room again.
      this.#advance();
    });
  }

  /** Writes what waits, and sees to what the connection does next. */
  #flush(): void {
    if (this.#detached) return;
    const isIdle = this.#open === 0;
    const { heads, limits, clock } = this.#host;
    if (isIdle && this.#continueDue && !this.#closing) {
      this.#continueDue = false;
      this.#outbox.add(CONTINUE);
    }
    if (isIdle && this.#refusal !== undefined) {
      const status = this.#refusal;
      this.#refusal = undefined;
      this.#outbox.add(heads.write({ status, headers: [], contentLength: 0, keepAlive: false }));
    }
    if (this.#outbox.flush() && isIdle) this.#since = clock.now();
    if (isIdle && (this.#closing || this.#peerEnded)) {
      this.#end();
      return;
    }
    if (!this.#blocked && this.#socket.writableLength > limits.unsentBytesMax) {
      this.#blocked = true;
      this.#since = clock.now();
    }
    this.#setReading(!(this.#isFull() && this.#parser.heldBytes > 0));
  }

  #setReading(on: boolean): void {
    if (on === !this.#socket.isPaused()) return;
    if (on) this.#socket.resume();
    else this.#socket.pause();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#since = this.#host.clock.now();
    if (this.#lingers && !this.#peerEnded) {
      this.#socket.resume();
      this.#socket.end();
    } else {
      this.#socket.destroySoon();
    }
  }

  #onDrain(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#since = this.#host.clock.now();
    this.#advance();
  }

  /** The peer sends no more. It may have left, or still read: what waits for news is given up, the rest is answered. */
  #onEnd(): void {
    this.#peerEnded = true;
    this.#tellPeerGone();
    if (this.#open === 0) this.#end();
  }

  #onClose(): void {
    this.#tellPeerGone();
    this.#host.onClose(this);
  }

  #tellPeerGone(): void {
    let exchange = this.#first;
    while (exchange !== undefined) {
      const { next }: HttpExchange = exchange;
      exchange.tellPeerGone();
      exchange = next;
    }
  }
}
