import { deferred, type Deferred } from '../../src/base/deferred.js';
import type { Bus, BusHandlers, BusStream, Member } from '../../src/cluster/contract.js';
import { BrokerError } from '../../src/core/errors.js';

/** Chunks that were written and not read yet, after which a writer waits. */
const UNREAD_MAX = 4;

/** Two ends of a stream without a network between them. */
export function memoryStreams(): readonly [MemoryStream, MemoryStream] {
  const one = new MemoryStream();
  const two = new MemoryStream();
  one.join(two);
  two.join(one);
  return [one, two];
}

export class MemoryStream implements BusStream {
  #peer: MemoryStream | undefined;
  /** What the peer wrote; undefined: its end. */
  readonly #arrived: (Uint8Array | undefined)[] = [];
  #reader: Deferred<void> | undefined;
  #room: Deferred<void> | undefined;
  #isDead = false;
  ended = false;

  join(peer: MemoryStream): void {
    this.#peer = peer;
  }

  get #other(): MemoryStream {
    if (this.#peer === undefined) throw new Error('a stream has two ends');
    return this.#peer;
  }

  async write(chunk: Uint8Array): Promise<void> {
    const peer = this.#other;
    while (peer.#arrived.length >= UNREAD_MAX && !this.#isDead) {
      this.#room ??= deferred();
      await this.#room.promise;
    }
    if (this.#isDead || this.ended) throw new BrokerError('unavailable', 'the stream is gone');
    peer.#arrive(Buffer.from(chunk));
  }

  async read(): Promise<Uint8Array | undefined> {
    while (this.#arrived.length === 0) {
      if (this.#isDead) throw new BrokerError('unavailable', 'the stream is gone');
      this.#reader = deferred();
      await this.#reader.promise;
    }
    const chunk = this.#arrived[0];
    // An end is read again and again.
    if (chunk !== undefined) this.#arrived.shift();
    this.#other.#hasRoom();
    return chunk;
  }

  end(): void {
    if (this.ended || this.#isDead) return;
    this.ended = true;
    this.#other.#arrive(undefined);
  }

  abort(): void {
    this.#die();
    this.#other.#die();
  }

  get aborted(): boolean {
    return this.#isDead;
  }

  #arrive(chunk: Uint8Array | undefined): void {
    this.#arrived.push(chunk);
    this.#reader?.resolve();
  }

  #hasRoom(): void {
    this.#room?.resolve();
    this.#room = undefined;
  }

  #die(): void {
    this.#isDead = true;
    this.#reader?.resolve();
    this.#hasRoom();
  }
}

/** Members of one process that call each other: streams only. */
export class MemoryBus implements Bus {
  readonly #services = new Map<string, BusHandlers>();
  readonly #self: Member;
  readonly #net: Map<string, MemoryBus>;

  constructor(self: Member, net: Map<string, MemoryBus>) {
    this.#self = self;
    this.#net = net;
    net.set(self.id, this);
  }

  request(member: Member): Promise<Uint8Array> {
    return Promise.reject(new BrokerError('unavailable', `${member.id} answers no requests`));
  }

  async open(member: Member, service: string): Promise<BusStream> {
    const handlers = this.#net.get(member.id)?.handlersOf(service);
    if (handlers?.stream === undefined) throw new BrokerError('unavailable', `nobody serves ${service}`);
    const [near, far] = memoryStreams();
    await Promise.resolve();
    handlers.stream(this.#self, far).then(
      () => far.end(),
      () => far.abort(),
    );
    return near;
  }

  serve(service: string, handlers: BusHandlers): () => void {
    this.#services.set(service, handlers);
    return () => void this.#services.delete(service);
  }

  handlersOf(service: string): BusHandlers | undefined {
    return this.#services.get(service);
  }

  close(): Promise<void> {
    this.#services.clear();
    return Promise.resolve();
  }
}
