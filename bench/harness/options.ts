import { parseArgs } from 'node:util';

export interface BenchOptions {
  /** Beginnings of measure ids; empty = all. */
  readonly only: readonly string[];
  /** Names of the peers to compare with. */
  readonly peers: readonly string[];
  readonly seconds: number;
  readonly runs: number;
  readonly help: boolean;
}

export const HELP = `npm run bench -- [options]

  --only LIST      measures to run, by the beginning of their id: core, core-send, amqp, sqs, sqs-send1, sns, pubsub,
                   native, cluster, memory, latency … (default: all)
  --peers LIST     rabbitmq, fauxqs, fauxqs-sqlite, emulator, nats, nats-r3,
                   cluster-owner, or none (default: all that are installed)
  --seconds N      length of a timed phase (default 5)
  --runs N         timed runs; figures are their medians (default 3)
`;

export function parseOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: '' },
      peers: { type: 'string', default: 'rabbitmq,fauxqs,fauxqs-sqlite,emulator,nats,nats-r3,cluster-owner' },
      seconds: { type: 'string', default: '5' },
      runs: { type: 'string', default: '3' },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    only: list(values.only),
    peers: list(values.peers),
    seconds: positive('--seconds', values.seconds),
    runs: positive('--runs', values.runs),
    help: values.help,
  };
}

/** Whether a measure was asked for. */
export function selected(options: BenchOptions, id: string): boolean {
  return options.only.length === 0 || options.only.some((one) => id === one || id.startsWith(`${one}-`));
}

function list(text: string): string[] {
  return text.split(',').map((part) => part.trim()).filter((part) => part !== '' && part !== 'none'); // prettier-ignore
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${name} takes a number above 0, not ${text}`);
  return value;
}
