import type { Client, Gatekeeper } from '../../core/access/gatekeeper.js';
import type { BidiCall, BidiHandler, ServerStreamCall, ServiceHandlers, UnaryCall } from './grpc-call.js';
import type { ServiceDefinition } from './grpc-service.js';
import type { GrpcStatus } from './grpc-status.js';
import type { CallMetadata, StreamCallEvent } from './grpc/handlers.js';
import { ANONYMOUS, clientIdOf, shownToken, watchShown, type Identity, type Shown } from './identity.js';
import { TokenBoundCall } from './token-bound-call.js';

export interface ClientHandlersOptions {
  readonly service: ServiceDefinition;
  readonly gate: Gatekeeper;
  readonly identity: Identity;
  /** Whether a connection may show who it is, by a client certificate. */
  readonly certificates: boolean;
  /** The handlers that serve one client, with its broker. */
  readonly handlersOf: (client: Client) => ServiceHandlers;
  /** Methods that everybody may call, whoever they are. */
  readonly open?: ReadonlySet<string>;
  /** The status of a call that is refused. */
  readonly refusal: (caught: unknown) => GrpcStatus;
  /** Throws when the client may not ask for this. Not for streams of requests. */
  readonly check?: (client: Client, method: string, request: unknown) => void;
  /** The client id that a request claims; believed when nobody has to show who they are. */
  readonly claimed?: (request: unknown) => string;
  /** Puts the client id that was shown in the place of the claimed one. */
  readonly stamp?: (request: unknown, clientId: string) => void;
}

/** Handlers of a service that find out who calls, and serve each client with what it may use. */
export function clientHandlers(options: ClientHandlersOptions): ServiceHandlers {
  const { gate, identity, certificates, handlersOf, service, open } = options;
  const everybody = handlersOf(gate.clientOf(ANONYMOUS));
  if (!gate.enabled && !identity.required && !certificates) return everybody;
  const clients = new ClientHandlers(options);
  return Object.fromEntries(
    Object.entries(everybody).map(([name, handler]) => {
      const kind = service[name]?.kind;
      if (open?.has(name) === true || kind === undefined) return [name, handler];
      if (kind === 'bidi') return [name, clients.stream(name)];
      return [name, kind === 'unary' ? clients.unary(name) : clients.subscription(name)];
    }),
  );
}

type Unary = UnaryCall<unknown, unknown>;
type Subscription = ServerStreamCall<unknown, unknown>;
type Stream = BidiCall<unknown, unknown>;
type AnyCall = Unary | Subscription | Stream;

class ClientHandlers {
  readonly #options: ClientHandlersOptions;
  readonly #byClient = new WeakMap<Client, ServiceHandlers>();

  constructor(options: ClientHandlersOptions) {
    this.#options = options;
  }

  /** A method with one request and one answer. */
  unary(name: string): (call: Unary) => void {
    return (call) =>
      void this.#identify(call, (shown) => this.#runSingle(name, this.#boundToToken(call), shown));
  }

  /** A method with one request and a stream of answers. */
  subscription(name: string): (call: Subscription) => void {
    return (call) =>
      void this.#identify(call, (shown) => {
        this.#endWithToken(call);
        this.#runSingle(name, call, shown);
      });
  }

  #runSingle(name: string, call: Unary | Subscription, shown: string | undefined): void {
    const { claimed, stamp, check, gate } = this.#options;
    const { request } = call;
    if (shown !== undefined) stamp?.(request, shown);
    const client = this.#clientOf(shown ?? claimed?.(request));
    if (gate.enabled) check?.(client, name, request);
    this.#run(client, name, call);
  }

  /** A method with a stream of requests: who claims who it is does so in the first one. */
  stream(name: string): BidiHandler<unknown, unknown> {
    const { claimed, stamp, gate } = this.#options;
    return (call) => {
      let isLate = false as boolean;
      isLate = this.#identify(call, (shown) => {
        this.#endWithToken(call);
        if (shown !== undefined) {
          const stamped =
            stamp === undefined ? call : new ChangedCall(call, (request) => stamp(request, shown));
          this.#run(this.#clientOf(shown), name, stamped);
        } else if (claimed === undefined || !gate.enabled) {
          this.#run(this.#clientOf(undefined), name, call);
        } else {
          const claiming: ChangedCall = new ChangedCall(call, undefined, (first) =>
            this.#run(this.#clientOf(first === undefined ? undefined : claimed(first)), name, claiming),
          );
        }
        if (isLate) call.resume();
      });
      if (isLate) call.pause();
    };
  }

  /** Calls `then` with the client id that is shown, now or later (true); refuses the call when it is no good. */
  #identify(call: AnyCall, then: (shown: string | undefined) => void): boolean {
    const { identity } = this.#options;
    const fail = (caught: unknown): void => call.fail(this.#options.refusal(caught));
    const go = (shown: string | undefined): void => {
      try {
        then(shown);
      } catch (caught) {
        fail(caught);
      }
    };
    try {
      const shown = clientIdOf(identity, shownOn(call));
      if (!(shown instanceof Promise)) {
        go(shown);
        return false;
      }
      let isGone = false;
      call.on('cancelled', () => (isGone = true));
      shown.then((clientId) => {
        if (!isGone) go(clientId);
      }, fail);
      return true;
    } catch (caught) {
      fail(caught);
      return false;
    }
  }

  /** What lasts longer than the token it began with is cut when that ends. */
  #endWithToken(call: Subscription | Stream): void {
    const { identity, refusal } = this.#options;
    call.on(
      'close',
      watchShown(identity, shownOn(call), (ended) => call.cut(refusal(ended))),
    );
  }

  #boundToToken(call: Unary): Unary {
    const { identity, refusal } = this.#options;
    const shown = shownOn(call);
    if (shownToken(identity, shown) === undefined) return call;
    return new TokenBoundCall(call, (over) => watchShown(identity, shown, (ended) => over(refusal(ended))));
  }

  #clientOf(clientId: string | undefined): Client {
    return this.#options.gate.clientOf(clientId === undefined || clientId === '' ? ANONYMOUS : clientId);
  }

  #run(client: Client, name: string, call: AnyCall): void {
    let handlers = this.#byClient.get(client);
    if (handlers === undefined) {
      handlers = this.#options.handlersOf(client);
      this.#byClient.set(client, handlers);
    }
    handlers[name]?.(call as never);
  }
}

function shownOn({ metadata }: AnyCall): Shown {
  return { authorization: metadata.get('authorization'), peerName: metadata.peerName };
}

/** A stream whose requests are changed on their way to the handler, or whose handler runs when the first one is there. */
class ChangedCall implements Stream {
  readonly #call: Stream;
  readonly #dataListeners: ((request: unknown) => void)[] = [];
  readonly #endListeners: (() => void)[] = [];
  #begin: ((first: unknown) => void) | undefined;

  constructor(call: Stream, change?: (request: unknown) => void, begin?: (first: unknown) => void) {
    this.#call = call;
    this.#begin = begin;
    call.on('data', (request) => {
      change?.(request);
      this.#beginWith(request);
      for (const listener of this.#dataListeners) listener(request);
    });
    call.on('end', () => {
      this.#beginWith(undefined);
      for (const listener of this.#endListeners) listener();
    });
  }

  get metadata(): CallMetadata {
    return this.#call.metadata;
  }

  #beginWith(first: unknown): void {
    const begin = this.#begin;
    this.#begin = undefined;
    begin?.(first);
  }

  on(event: StreamCallEvent | 'data', listener: ((request: unknown) => void) | (() => void)): void {
    if (event === 'data') this.#dataListeners.push(listener);
    else if (event === 'end') this.#endListeners.push(listener as () => void);
    else this.#call.on(event, listener as () => void);
  }

  write(message: unknown, accepted?: () => void): boolean {
    return this.#call.write(message, accepted);
  }

  end(): void {
    this.#call.end();
  }

  fail(status: GrpcStatus): void {
    this.#call.fail(status);
  }

  cut(status: GrpcStatus): void {
    this.#call.cut(status);
  }

  pause(): void {
    this.#call.pause();
  }

  resume(): void {
    this.#call.resume();
  }
}
