import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { BrokerError } from '../core/errors.js';
import type { Bus, BusStream, Coordinator, Member } from './contract.js';

/** A client's connection as the node sees it that accepted it. */
export interface ConnectionHead {
  /** Name of the listener that it came to. */
  readonly listener: string;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  /** By TLS, which ended at that node. */
  readonly secure: boolean;
  /** The name in the client's certificate that was checked there. */
  readonly certificateName?: string | undefined;
}

/** Serves a connection until it is closed: then it resolves. */
export type ConnectionServer = (head: ConnectionHead, stream: BusStream) => Promise<void>;

export interface ConnectionsOptions {
  readonly coordinator: Coordinator;
  readonly bus: Bus;
  /** Whose owner serves all clients. */
  readonly claim: string;
  readonly clock: Clock;
  readonly log: Log;
}

const SERVICE = 'connection';
const RETRY_MS = 50;
/** For how long the owner is not asked for again. */
const OWNER_FRESH_MS = 500;

/**
 * Clients' connections on their way from the node that accepted them to the one that owns the channels. The first chunk of a
 * stream is the head, as JSON; what follows are the client's bytes.
 */
export class ForwardedConnections {
  readonly #o: ConnectionsOptions;
  #owner: { readonly member: Promise<Member | undefined>; readonly until: number } | undefined;

  constructor(options: ConnectionsOptions) {
    this.#o = options;
  }

  /** From now on connections of other nodes come here. Returns how to stop that. */
  serve(server: ConnectionServer): () => void {
    return this.#o.bus.serve(SERVICE, {
      stream: async (from, stream) => {
        const first = await stream.read();
        const head = first === undefined ? undefined : decodeHead(first);
        if (head === undefined) throw new BrokerError('invalid-argument', 'a connection without a head');
        this.#o.log.debug('a forwarded connection', { from: from.id, listener: head.listener });
        await server(head, stream);
      },
    });
  }

  /**
   * The way to the owner; `here` when it is this node. While there is no owner, or none that answers, it is asked for again.
   * Rejects with `unavailable` after `waitMs`, at the first failure behind that.
   */
  async open(head: ConnectionHead, waitMs: number): Promise<BusStream | 'here'> {
    const { coordinator, bus, clock, log } = this.#o;
    const until = clock.now() + waitMs;
    for (;;) {
      try {
        const owner = await this.#ownerOf();
        if (owner?.id === coordinator.self.id) return 'here';
        if (owner === undefined) throw new BrokerError('unavailable', 'nobody owns the channels');
        const stream = await bus.open(owner, SERVICE);
        await stream.write(encodeHead(head));
        return stream;
      } catch (error) {
        this.#owner = undefined;
        if (clock.now() >= until) throw BrokerError.from(error);
        log.debug('the owner cannot be reached, trying again', { error: String(error) });
      }
      await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
    }
  }

  #ownerOf(): Promise<Member | undefined> {
    const { coordinator, claim, clock } = this.#o;
    const now = clock.now();
    if (this.#owner === undefined || now >= this.#owner.until)
      this.#owner = { member: coordinator.owner(claim), until: now + OWNER_FRESH_MS };
    return this.#owner.member;
  }
}

function encodeHead(head: ConnectionHead): Uint8Array {
  return Buffer.from(JSON.stringify(head));
}

/** Undefined: the bytes are no head. */
export function decodeHead(bytes: Uint8Array): ConnectionHead | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const head = value as Partial<ConnectionHead>;
  const isHead =
    typeof head.listener === 'string' &&
    typeof head.remoteAddress === 'string' &&
    typeof head.remotePort === 'number' &&
    typeof head.localAddress === 'string' &&
    typeof head.localPort === 'number' &&
    typeof head.secure === 'boolean' &&
    ['string', 'undefined'].includes(typeof head.certificateName);
  return isHead ? (head as ConnectionHead) : undefined;
}
