import { SystemClock, type Clock, type ManualClock } from '../../../src/base/clock.js';
import { SystemIds } from '../../../src/base/ids.js';
import { silentLog } from '../../../src/base/log.js';
import type { Connector } from '../../../src/connectors/kit/connector.js';
import type { Identity } from '../../../src/connectors/kit/identity.js';
import {
  createNativeConnector,
  nativeConfigSchema,
  restConfigSchema,
  type RestConfig,
} from '../../../src/connectors/native/index.js';
import { openBroker, type OpenBroker } from '../../../src/core/broker.js';
import { MemoryJournal, type MemoryJournalOptions } from '../../../src/journal/memory/index.js';
import { openAccess } from '../../support/access.js';
import { NativeClient } from '../../support/native-client.js';

/** The native API alone over a broker in memory, and clients of it. */
export interface NativeServer {
  readonly broker: OpenBroker;
  readonly connector: Connector;
  readonly journal: MemoryJournal;
  readonly port: number;
  readonly address: string;
  /** `http://host:port` of the REST API. */
  readonly restUrl: string;
  /** A client that is closed with the server. */
  client(clientId?: string): NativeClient;
  stop(): Promise<void>;
}

export interface NativeServerOptions extends MemoryJournalOptions {
  readonly rest?: Partial<RestConfig>;
  readonly identity?: Identity;
  readonly clock?: Clock;
}

export async function startNativeServer(options: NativeServerOptions = {}): Promise<NativeServer> {
  const { clock = new SystemClock(), rest = {}, identity, ...journalOptions } = options;
  const journal = new MemoryJournal(journalOptions);
  const broker = await openBroker({ journal, clock, log: silentLog });
  const context = {
    broker,
    ...openAccess(broker),
    ...(identity === undefined ? {} : { identity }),
    clock,
    ids: new SystemIds(),
    log: silentLog,
    host: '127.0.0.1',
    version: '0.0.0',
  };
  const connector = createNativeConnector(
    context,
    nativeConfigSchema.parse({ enable: true, port: 0 }),
    restConfigSchema.parse({ enable: true, port: 0, ...rest }),
  );
  const [bound, boundRest] = await connector.start();
  const port = bound?.port ?? 0;
  const address = `127.0.0.1:${String(port)}`;
  const clients: NativeClient[] = [];
  return {
    broker,
    connector,
    journal,
    port,
    address,
    restUrl: `http://127.0.0.1:${String(boundRest?.port ?? 0)}`,
    client: (clientId) => {
      const client = new NativeClient(address, clientId);
      clients.push(client);
      return client;
    },
    stop: async () => {
      for (const client of clients) client.close();
      await connector.drain(0);
      await connector.stop();
      await broker.close();
    },
  };
}

/** Resolves when `isTrue` says so: for what the server does on its own after a call was sent. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Moves time in steps that are short against every deadline of the broker, letting its calls run in between. */
export async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    clock.advance(Math.min(50, left));
    await new Promise((resolve) => setImmediate(resolve));
  }
}
