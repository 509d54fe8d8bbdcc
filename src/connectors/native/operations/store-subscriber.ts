import type { ChannelName } from '../../../core/channel-name.js';
import { BrokerError } from '../../../core/errors.js';
import { FlowWriter, type ServerStreamCall } from '../../kit/grpc-call.js';
import { OWN_TEXTS, TEXTS } from '../error-texts.js';
import { nativeStatus } from '../errors.js';
import { eventReceive, startPosition } from '../event-mapping.js';
import type { GroupReaders, ReaderMember, ReaderRequest } from './group-reader.js';
import { NATIVE_LIMITS } from '../limits.js';
import type { NativeService } from '../service.js';
import type { EventReceive, Subscribe } from '../wire/messages.js';
import { onOver } from './calls.js';

type Call = ServerStreamCall<Subscribe, EventReceive>;

/**
 * A subscriber of an Events Store channel. The position is kept on the broker, for (client, channel) or, with a group, for
 * (group, channel); once there is one, the start type is ignored. It moves on when the stream has taken an event, so a slow
 * reader slows itself down and misses nothing.
 */
export class StoreSubscriber {
  readonly #service: NativeService;
  readonly #groups: GroupReaders;
  readonly #call: Call;
  readonly #writer: FlowWriter<EventReceive>;
  #leaveReader: () => void = () => undefined;

  constructor(service: NativeService, groups: GroupReaders, call: Call) {
    this.#service = service;
    this.#groups = groups;
    this.#call = call;
    this.#writer = new FlowWriter(call);
  }

  start(): void {
    const leave = this.#service.sessions.enter(this);
    // The reader is shared, and asks for nothing on behalf of one client.
    const channel = this.#call.request.channel as ChannelName;
    const forget = this.#service.client.whileAllowed({ kind: 'log', access: 'read', channel }, (refusal) => {
      this.#leaveReader();
      this.#writer.fail(nativeStatus(refusal));
    });
    onOver(this.#call, () => {
      leave();
      forget();
      this.#leaveReader();
    });
    this.#join().catch((caught: unknown) => {
      this.#service.counters.requests_refused++;
      this.#writer.fail(nativeStatus(caught));
    });
  }

  drain(): void {
    this.#leaveReader();
    this.#writer.fail(nativeStatus(new BrokerError('draining', TEXTS.shutdown)));
  }

  async #join(): Promise<void> {
    const { request } = this.#call;
    const reader = readerRequest(request);
    if (!reader.isShared) await this.#awaitFree(reader);
    if (this.#writer.ended) return;
    this.#leaveReader = this.#groups.join(reader, this.#member(request.channel));
  }

  /** A client that comes back at once may be quicker than the news that its last stream has ended. */
  async #awaitFree(reader: ReaderRequest): Promise<void> {
    const { clock } = this.#service;
    await new Promise<void>((resolve) => {
      const timer = clock.after(NATIVE_LIMITS.takeOverMs, resolve);
      void this.#groups.whenFree(reader).then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  #member(channel: string): ReaderMember {
    const writer = this.#writer;
    return {
      ready: () => writer.ready(),
      deliver: async (events) => {
        const accepted = await writer.deliver(events.map((event) => eventReceive(event, channel)));
        if (accepted) this.#service.counters.events_delivered += events.length;
        return accepted;
      },
      fail: (caught) => writer.fail(nativeStatus(caught)),
    };
  }
}

function readerRequest(request: Subscribe): ReaderRequest {
  const { channel, group, clientId } = request;
  return {
    channel: channel as ChannelName,
    // Prefixes keep a client and a group of one name apart.
    durable: group === '' ? `client:${clientId}` : `group:${group}`,
    start: startPosition(request),
    isShared: group !== '',
    takenText: OWN_TEXTS.alreadySubscribed(clientId, channel),
  };
}
