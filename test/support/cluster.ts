import { createHash } from 'node:crypto';
import { SystemClock } from '../../src/base/clock.js';
import { SystemIds } from '../../src/base/ids.js';
import type { Log } from '../../src/base/log.js';
import type { Address } from '../../src/connectors/kit/connector.js';
import { configFrom, type ConfigOverrides } from '../../src/app/read-config.js';
import { createInstance, startPolymq, type RunningBroker, type StartOptions } from '../../src/app/start.js';

/** Where NATS listens when the tests are to run against a cluster; see CONTRIBUTING.md. */

export const clusterUrl: string | undefined = process.env['POLYMQ_TEST_CLUSTER'];

/** Ports from the system, whatever the configuration says. */
const FREE_PORTS: ConfigOverrides = {
  api: { port: 0 },
  grpc: { port: 0 },
  rest: { port: 0 },
  connectors: {
    aws: { port: 0 },
    pubSub: { port: 0 },
    amqp: { port: 0, tlsPort: 0, managementPort: 0, webSocketPort: 0 },
  },
};

/** The node that owns nothing, and behind it the owner. */
export interface ForwardedBroker extends RunningBroker {
  readonly owner: RunningBroker;
}

/**
 * Two nodes of one cluster in this process, as if they were one broker: the owner's state, and the ports of the other node, which
 * owns nothing and forwards what comes. `folder` names the cluster, so that a restart finds what was there.
 */
export async function startForwarded(
  options: StartOptions,
  folder: string,
  natsUrl: string,
): Promise<ForwardedBroker> {
  const name = `t${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`;
  const config = { ...options.config, store: { ...options.config?.store, engine: 'nats' as const } };
  const nats = { ...options.config?.nats, url: natsUrl, name };
  const clusterClock = new SystemClock();
  const owner = await startPolymq({ ...options, clusterClock, config: { ...withFreePorts(config), nats } });
  const { log, addresses } = standbyLog();
  const forwarder = createInstance({
    config: configFrom({ ...config, nats }),
    clock: options.clock ?? clusterClock,
    clusterClock,
    ids: options.ids ?? new SystemIds(),
    log,
  });
  const started = forwarder.start().then(
    () => new Error('the second node became the owner'),
    (error: unknown) => error,
  );
  const bound = await Promise.race([addresses, started]);
  if (!Array.isArray(bound)) {
    await owner.stop(0);
    throw bound;
  }
  const ports = bound as readonly Address[];
  return {
    owner,
    broker: owner.broker,
    config: owner.config,
    get phase() {
      return owner.phase;
    },
    addresses: ports,
    address: (listener) => {
      const found = ports.find((address) => address.name === listener);
      if (found === undefined) throw new Error(`no listener ${listener}`);
      return found;
    },
    // The owner first, so that clients hear its goodbye; the other is about to take over then.
    stop: async (graceMs) => {
      await owner.stop(graceMs);
      await forwarder.stop(0);
    },
    ended: owner.ended,
    reload: () => {
      owner.reload();
      forwarder.reload();
    },
  };
}

function withFreePorts(config: ConfigOverrides): ConfigOverrides {
  const { connectors } = config;
  return {
    ...config,
    ...FREE_PORTS,
    grpc: { ...config.grpc, port: 0 },
    rest: { ...config.rest, port: 0 },
    connectors: {
      ...connectors,
      aws: { ...connectors?.aws, port: 0 },
      pubSub: { ...connectors?.pubSub, port: 0 },
      amqp: { ...connectors?.amqp, ...FREE_PORTS.connectors?.amqp },
    },
  };
}

/** A log that waits for the line with which a standby names its ports. */
function standbyLog(): { readonly log: Log; readonly addresses: Promise<readonly Address[]> } {
  let found: (addresses: readonly Address[]) => void = () => undefined;
  const addresses = new Promise<readonly Address[]>((resolve) => (found = resolve));
  const log: Log = {
    debug: () => undefined,
    info: (message, fields) => {
      if (message !== 'standby') return;
      const byName = fields?.['addresses'] as Readonly<Record<string, string>>;
      found(
        Object.entries(byName).map(([name, text]) => {
          const [host = '', port] = text.split(':');
          return { name, host, port: Number(port) };
        }),
      );
    },
    warn: () => undefined,
    error: () => undefined,
    child: () => log,
  };
  return { log, addresses };
}
