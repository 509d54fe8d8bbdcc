import { inspect } from 'node:util';
import { SystemClock } from '../../../src/base/clock.js';
import type { Clock } from '../../../src/base/clock.js';
import { SystemIds } from '../../../src/base/ids.js';
import { silentLog } from '../../../src/base/log.js';
import type { Log } from '../../../src/base/log.js';
import type { AmqpConfig } from '../../../src/connectors/amqp/index.js';
import { amqpConfigSchema, createAmqpConnector } from '../../../src/connectors/amqp/index.js';
import type { Connector } from '../../../src/connectors/kit/connector.js';
import type { Identity } from '../../../src/connectors/kit/identity.js';
import type { OpenBroker } from '../../../src/core/broker.js';
import { openBroker } from '../../../src/core/broker.js';
import type { CoreLimits } from '../../../src/core/core-context.js';
import { UNCONTESTED, type Tenure } from '../../../src/core/ports/tenure.js';
import { MemoryJournal } from '../../../src/journal/memory/index.js';
import type { MemoryFaults } from '../../../src/journal/memory/index.js';
import { openAccess } from '../../support/access.js';

export interface AmqpServerOptions {
  readonly config?: Partial<AmqpConfig>;
  readonly limits?: Partial<CoreLimits>;
  readonly journal?: MemoryJournal;
  readonly clock?: Clock;
  /** Default: nobody else has the journal. */
  readonly tenure?: Tenure;
  /** Who stands behind tokens; without it none is asked for. */
  readonly identity?: Identity;
}

/** A broker on a journal in memory, with the AMQP connector on a free port of 127.0.0.1. */
export interface AmqpServer {
  readonly broker: OpenBroker;
  readonly connector: Connector;
  readonly journal: MemoryJournal;
  readonly faults: MemoryFaults;
  readonly port: number;
  /** All ports, by the names of their addresses. */
  readonly ports: ReadonlyMap<string, number>;
  readonly url: string;
  /** Errors and warnings that were logged. */
  readonly logged: string[];
  stop(): Promise<void>;
}

export async function startAmqpServer(options: AmqpServerOptions = {}): Promise<AmqpServer> {
  const clock = options.clock ?? new SystemClock();
  const journal = options.journal ?? new MemoryJournal();
  const logged: string[] = [];
  const note = (message: string, fields?: Readonly<Record<string, unknown>>): void =>
    void logged.push(`${message} ${inspect(fields)}`);
  const log: Log = { ...silentLog, warn: note, error: note, child: () => log };
  const broker = await openBroker({
    journal,
    clock,
    log,
    limits: options.limits ?? {},
    tenure: options.tenure ?? UNCONTESTED,
  });
  const config = amqpConfigSchema.parse({ enable: true, port: 0, ...options.config });
  const context = {
    broker,
    ...openAccess(broker),
    ...(options.identity && { identity: options.identity }),
    clock,
    ids: new SystemIds(),
    log,
    host: '127.0.0.1',
    version: '0.1.0',
  };
  const connector = createAmqpConnector(context, config);
  const ports = new Map((await connector.start()).map((address) => [address.name, address.port]));
  const port = ports.get('amqp') ?? 0;
  return {
    broker,
    connector,
    journal,
    faults: journal.faults,
    port,
    ports,
    url: `amqp://guest:guest@127.0.0.1:${String(port)}`,
    logged,
    stop: async () => {
      await connector.drain(1000);
      await connector.stop();
      await broker.close();
    },
  };
}
