import { afterAll, beforeAll } from 'vitest';
import {
  startPolymq,
  type ConfigOverrides,
  type RunningBroker,
  type StartOptions,
} from '../../src/app/index.js';
import { clusterUrl, startForwarded } from './cluster.js';
import { temporaryFolder } from './folder.js';

export type ConnectorName = 'native' | 'aws' | 'gcp' | 'amqp';

export interface ServerOptions extends Omit<StartOptions, 'config'> {
  /** Default: all. */
  readonly connectors?: readonly ConnectorName[];
  /** On top of: loopback only, free ports, a store of its own on disk. */
  readonly config?: ConfigOverrides;
  /** The store's folder; default: a fresh one that goes when the server stops. */
  readonly folder?: string;
  /** Never in a cluster: processes beside it use the same folder. */
  readonly alone?: boolean;
}

const ALL: readonly ConnectorName[] = ['native', 'aws', 'gcp', 'amqp'];

/** Starts the whole product in this process, silent, on free loopback ports. */
export async function startServer(options: ServerOptions = {}): Promise<RunningBroker> {
  const { connectors = ALL, config = {}, folder, alone = false, ...rest } = options;
  const on = (name: ConnectorName): boolean => connectors.includes(name);
  const own = folder === undefined ? temporaryFolder() : undefined;
  const base: ConfigOverrides = {
    host: '127.0.0.1',
    api: { port: 0 },
    store: { path: folder ?? own?.path ?? '' },
    shutdown: { graceMs: 2_000 },
    grpc: { enable: on('native'), port: 0 },
    rest: { enable: on('native'), port: 0 },
    connectors: {
      aws: { enable: on('aws'), port: 0 },
      gcp: { enable: on('gcp') },
      pubSub: { port: 0 },
      amqp: { enable: on('amqp'), port: 0 },
    },
  };
  try {
    const whole = { ...rest, config: merged(base, config) };
    const store = whole.config.store?.path ?? '';
    const running =
      clusterUrl === undefined || alone || rest.journal !== undefined
        ? await startPolymq(whole)
        : await startForwarded(whole, store, clusterUrl);
    const stop = running.stop.bind(running);
    running.stop = async (graceMs) => {
      await stop(graceMs);
      own?.remove();
    };
    return running;
  } catch (error) {
    own?.remove();
    throw error;
  }
}

/** A server for all tests of a file or a `describe`: started before them, stopped after them. */
export function useServer(options: ServerOptions = {}): () => RunningBroker {
  let running: RunningBroker | undefined;
  beforeAll(async () => {
    running = await startServer(options);
  });
  afterAll(async () => {
    await running?.stop();
  });
  return () => {
    if (running === undefined) throw new Error('the server is not running');
    return running;
  };
}

/** `http://host:port` of a listener. */
export function urlOf(running: RunningBroker, name: string): string {
  const { host, port } = running.address(name);
  return `http://${host}:${port}`;
}

function merged<T>(below: T, above: T): T {
  if (!isGroup(below) || !isGroup(above)) return above === undefined ? below : above;
  const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
  return Object.fromEntries([...keys].map((key) => [key, merged(below[key], above[key])])) as T;
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
