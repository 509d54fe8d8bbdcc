import type { ChannelName } from '../channel-name.js';
import type {
  EventSubscribeRequest,
  LiveActivity,
  LiveFigures,
  LiveKind,
  LiveMessage,
  LiveReply,
  LiveSink,
  LiveSubscription,
  LiveTraffic,
  NewEvent,
  NewRequest,
  PendingReply,
  ServeRequest,
} from '../live/types.js';
import type { GatedClient, PolicyGate } from './gatekeeper.js';
import type { AccessDenied, Requirement } from './resource.js';

/** Live traffic as one client may take part in it. Refusals are AccessDenied. */
export class AuthorizedLive implements LiveTraffic {
  readonly #gate: PolicyGate;
  readonly #live: LiveTraffic;
  readonly #client: GatedClient;

  constructor(gate: PolicyGate, client: GatedClient) {
    this.#gate = gate;
    this.#live = gate.broker.live;
    this.#client = client;
  }

  publish(event: NewEvent): number {
    this.#client.require('events', 'write', event.channel);
    return this.#live.publish(event);
  }

  /** A pattern must be allowed as it is written, and of what it matches only what is allowed comes through. */
  subscribe(request: EventSubscribeRequest): LiveSubscription {
    const pattern = request.pattern as ChannelName;
    this.#client.require('events', 'read', pattern);
    const sink = /[*>]/.test(pattern) ? this.#allowedOnly(request.sink) : request.sink;
    const subscription = this.#live.subscribe({ ...request, sink });
    return this.#tracked({ kind: 'events', access: 'read', channel: pattern }, subscription, request.sink);
  }

  #allowedOnly(sink: LiveSink<LiveMessage>): LiveSink<LiveMessage> {
    const client = this.#client;
    return {
      bufferMessages: sink.bufferMessages,
      get open() {
        return sink.open;
      },
      take(message) {
        if (client.may({ kind: 'events', access: 'read', channel: message.channel })) sink.take(message);
      },
    };
  }

  #tracked(
    requirement: Requirement,
    subscription: LiveSubscription,
    sink: Pick<LiveSink<LiveMessage>, 'end'>,
  ): LiveSubscription {
    const end = (reason: AccessDenied): void => {
      subscription.cancel();
      sink.end?.(reason);
    };
    const forget = this.#gate.track(this.#client, { requirement, end });
    return {
      resume: () => subscription.resume(),
      cancel: () => {
        forget();
        subscription.cancel();
      },
    };
  }

  request(request: NewRequest): PendingReply {
    this.#client.require(request.kind, 'write', request.channel);
    return this.#live.request(request);
  }

  /** Who was given the place for an answer may answer. */
  reply(replyTo: string, reply: LiveReply): void {
    this.#live.reply(replyTo, reply);
  }

  serve(request: ServeRequest): LiveSubscription {
    this.#client.require(request.kind, 'read', request.channel);
    const { kind, channel } = request;
    return this.#tracked({ kind, access: 'read', channel }, this.#live.serve(request), request.sink);
  }

  activity(kind: LiveKind): readonly LiveActivity[] {
    return this.#live.activity(kind).filter(({ channel }) => this.#client.sees(kind, channel));
  }

  forget(kind: LiveKind, channel: ChannelName): void {
    this.#client.require(kind, 'write', channel);
    this.#live.forget(kind, channel);
  }

  figures(): LiveFigures {
    return this.#live.figures();
  }
}
