import { hostname } from 'node:os';
import type { Address, Connector, ConnectorContext, ConnectorStatus } from '../kit/connector.js';
import { createGrpcListener, type GrpcListener } from '../kit/grpc.js';
import type { NativeConfig } from './config.js';
import { addNativeApi } from './grpc/api.js';
import { NATIVE_LIMITS } from './limits.js';
import { CHANNEL_KIND, channelRule } from './operations/channel-types.js';
import { newCounters } from './service.js';
import { Sessions } from './sessions.js';

export { nativeConfigSchema, type NativeConfig } from './config.js';

/** The transport reads a little more than the limit, so that a body of exactly the limit passes with what surrounds it. */
const ENVELOPE_BYTES = 64 * 1024;

/** The native gRPC API: service `kubemq.kubemq` of `wire/kubemq.proto`. */
export function createNativeConnector(context: ConnectorContext, config: NativeConfig): Connector {
  return new NativeConnector(context, config);
}

class NativeConnector implements Connector {
  readonly name = 'native';
  readonly #context: ConnectorContext;
  readonly #config: NativeConfig;
  readonly #sessions = new Sessions();
  readonly #counters = newCounters();
  #listener: GrpcListener | undefined;

  constructor(context: ConnectorContext, config: NativeConfig) {
    this.#context = context;
    this.#config = config;
  }

  async start(): Promise<readonly Address[]> {
    const { broker, gate, identity, clock, ids, log, host, tls, version } = this.#context;
    gate.describe(CHANNEL_KIND, channelRule);
    const listener = createGrpcListener({
      host,
      port: this.#config.port,
      maxReceiveBytes: this.#config.bodyLimit + ENVELOPE_BYTES,
      clock,
      log,
      tls,
    });
    addNativeApi(listener.server, {
      broker,
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
    });
    this.#listener = listener;
    return [{ name: 'native-grpc', host, port: await listener.listen() }];
  }

  async drain(graceMs: number): Promise<void> {
    this.#sessions.drain();
    await this.#listener?.drain(graceMs);
    await this.#idle();
  }

  async stop(): Promise<void> {
    await this.#listener?.stop();
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
      connections: this.#listener?.connections() ?? 0,
      counters: { ...this.#counters, open_streams: this.#sessions.count },
    };
  }
}
