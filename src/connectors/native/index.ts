import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import type { Address, Connector, ConnectorContext, ConnectorStatus } from '../kit/connector.js';
import { createGrpcListener, type GrpcListener } from '../kit/grpc.js';
import { ANONYMOUS } from '../kit/identity.js';
import type { NativeConfig } from './config.js';
import { addNativeApi, nativeApi, type NativeApi } from './grpc/api.js';
import { NATIVE_LIMITS } from './limits.js';
import { CHANNEL_KIND, channelRule } from './operations/channel-types.js';
import { GroupReaders } from './operations/group-reader.js';
import type { RestConfig } from './rest/config.js';
import { RestApi } from './rest/rest-api.js';
import { newCounters } from './service.js';
import { Sessions } from './sessions.js';

export { nativeConfigSchema, type NativeConfig } from './config.js';
export { restConfigSchema, type RestConfig } from './rest/config.js';

/** The transport reads a little more than the limit, so that a body of exactly the limit passes with what surrounds it. */
const ENVELOPE_BYTES = 64 * 1024;

/** The native API: gRPC (service `kubemq.kubemq` of `wire/kubemq.proto`), and REST with WebSockets; each when it is enabled. */
export function createNativeConnector(
  context: ConnectorContext,
  config: NativeConfig,
  rest?: RestConfig,
): Connector {
  return new NativeConnector(context, config, rest);
}

class NativeConnector implements Connector {
  readonly name = 'native';
  readonly #context: ConnectorContext;
  readonly #config: NativeConfig;
  readonly #restConfig: RestConfig | undefined;
  readonly #sessions = new Sessions();
  readonly #counters = newCounters();
  #grpc: GrpcListener | undefined;
  #rest: RestApi | undefined;

  constructor(context: ConnectorContext, config: NativeConfig, rest?: RestConfig) {
    this.#context = context;
    this.#config = config;
    this.#restConfig = rest;
  }

  async start(): Promise<readonly Address[]> {
    const { broker, gate, identity, clock, ids, log, tls, version } = this.#context;
    gate.describe(CHANNEL_KIND, channelRule);
    const service = {
      client: gate.clientOf(ANONYMOUS),
      broker,
      ownBroker: broker,
      gate,
      identity,
      certificates: tls?.credentials.authority !== undefined && tls.certificateIdentity,
      clock,
      ids,
      log,
      sessions: this.#sessions,
      counters: this.#counters,
      hostName: hostname(),
      version,
      startedAt: clock.now(),
    };
    const groups = new GroupReaders(broker);
    const apiFor = ({ subBuffSize }: { readonly subBuffSize: number }): NativeApi =>
      nativeApi({ ...service, subscriberBuffer: subBuffSize }, groups);
    const addresses: Address[] = [];
    if (this.#config.enable) addresses.push(await this.#startGrpc(apiFor(this.#config)));
    const rest = this.#restConfig;
    if (rest?.enable === true) addresses.push(await this.#startRest(apiFor(rest), rest));
    return addresses;
  }

  async #startGrpc(api: NativeApi): Promise<Address> {
    const { clock, log, host, tls } = this.#context;
    const listener = createGrpcListener({
      host,
      port: this.#config.port,
      maxReceiveBytes: this.#config.bodyLimit + ENVELOPE_BYTES,
      clock,
      log,
      tls,
    });
    addNativeApi(listener.server, api, this.#sessions);
    this.#grpc = listener;
    return { name: 'native-grpc', host, port: await listener.listen() };
  }

  async #startRest(api: NativeApi, config: RestConfig): Promise<Address> {
    const { clock, log, host, tls, version } = this.#context;
    this.#rest = new RestApi({ api, config, host, tls, clock, log, hostName: hostname(), version });
    return { name: 'native-rest', host, port: await this.#rest.start() };
  }

  admit(listener: string, socket: Socket): void {
    if (listener === 'native-grpc' && this.#grpc !== undefined) this.#grpc.accept(socket);
    else if (listener === 'native-rest' && this.#rest !== undefined) this.#rest.admit(socket);
    else socket.destroy();
  }

  async drain(graceMs: number): Promise<void> {
    this.#sessions.drain();
    await Promise.all([this.#grpc?.drain(graceMs), this.#rest?.drain(graceMs)]);
    await this.#idle();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#grpc?.stop(), this.#rest?.stop()]);
    await this.#idle();
  }

  /** Calls that were cut hear of it a moment later, and give back what they held. */
  async #idle(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.#context.clock.after(NATIVE_LIMITS.stopMs, resolve);
      void this.#sessions.idle().then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  status(): ConnectorStatus {
    return {
      connections: (this.#grpc?.connections() ?? 0) + (this.#rest?.connections() ?? 0),
      counters: { ...this.#counters, open_streams: this.#sessions.count },
    };
  }
}
