import { Command, CommanderError } from 'commander';
import { VERSION } from '../version.js';
import { aliasCommand } from './alias.js';
import { clusterCommand } from './cluster.js';
import { configCommand } from './config.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';
import { listCommands } from './list-commands.js';
import { messageCommands } from './message-commands.js';
import { sendCommand } from './send.js';
import { serveCommand } from './serve.js';
import { storeCommand } from './store.js';
import { tailCommand } from './tail.js';

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
  serveCommand(program, terminal);
  configCommand(program, terminal);
  storeCommand(program, terminal);
  listCommands(program, terminal);
  sendCommand(program, terminal);
  messageCommands(program, terminal);
  tailCommand(program, terminal);
  aliasCommand(program, terminal);
  clusterCommand(program, terminal);
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
