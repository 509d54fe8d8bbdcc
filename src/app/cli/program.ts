import { Command, CommanderError } from 'commander';
import { VERSION } from '../version.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';

type Define = (program: Command, terminal: Terminal) => void;

interface CommandModule {
  /** First words of a command line that are its own. */
  readonly names: readonly string[];
  readonly load: () => Promise<Define>;
}

/** In the order of the help. */
const MODULES: readonly CommandModule[] = [
  { names: ['serve'], load: async () => (await import('./serve.js')).serveCommand },
  { names: ['config'], load: async () => (await import('./config.js')).configCommand },
  { names: ['store'], load: async () => (await import('./store.js')).storeCommand },
  {
    names: ['queues', 'logs', 'channels'],
    load: async () => (await import('./list-commands.js')).listCommands,
  },
  { names: ['send'], load: async () => (await import('./send.js')).sendCommand },
  {
    names: ['receive', 'peek', 'purge', 'move'],
    load: async () => (await import('./message-commands.js')).messageCommands,
  },
  { names: ['tail'], load: async () => (await import('./tail.js')).tailCommand },
  { names: ['alias'], load: async () => (await import('./alias.js')).aliasCommand },
  { names: ['cluster'], load: async () => (await import('./cluster.js')).clusterCommand },
];

/** What a command line needs: the command that it names alone, as what is loaded stays; all for the help, and to say what there is. */
function modulesFor([first = '']: readonly string[]): readonly CommandModule[] {
  const named = MODULES.filter(({ names }) => names.includes(first));
  return named.length === 0 ? MODULES : named;
}

/** Runs one command line; gives the exit code. */
export async function runProgram(argv: readonly string[], terminal: Terminal): Promise<number> {
  const program = new Command('polymq')
    .description(
      'One durable message broker for SQS + SNS, Google Pub/Sub, RabbitMQ (AMQP 0-9-1) and native clients.',
    )
    .version(VERSION, '-v, --version')
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.error })
    .showHelpAfterError('(--help shows what there is)');
  for (const { load } of modulesFor(argv)) (await load())(program, terminal);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (!(error instanceof CommandFailure)) throw error;
    for (const line of error.lines) terminal.error(`polymq: ${line}\n`);
    return error.code;
  }
}
