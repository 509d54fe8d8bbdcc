import type { Command } from 'commander';
import { SystemClock } from '../../base/clock.js';
import { SystemIds } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import { createLog, standardOutput } from '../../ops/logging.js';
import { unknownVariables } from '../read-config.js';
import type { Instance, RunningBroker } from '../start.js';
import { VERSION } from '../version.js';
import { growWithUse } from '../young-generation.js';
import { addSettings, configOf } from './options.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';
import { stopOnSignal } from './stop-signals.js';

const ALIVE_MS = 60_000;

export function serveCommand(program: Command, terminal: Terminal): void {
  const command = program.command('serve').description('run the broker until SIGTERM or SIGINT');
  addSettings(command).action(async () => {
    await serve(command, terminal);
  });
}

/** Runs until a signal has drained the broker; a second signal ends the process at once. */
async function serve(command: Command, terminal: Terminal): Promise<void> {
  const { config } = await configOf(command, terminal);
  const log = createLog(config.log, standardOutput());
  crashOnBugs(log);
  for (const name of unknownVariables(terminal.environment))
    log.warn('unknown setting in the environment', { name });

  // Loaded here, so that the other commands do not wait for the whole broker.
  const { createInstance } = await import('../start.js');
  const { runUntilStopped, StartFailed } = await import('../run.js');
  const clock = new SystemClock();
  const make = (isPatient: boolean): Instance =>
    createInstance({ config, clock, ids: new SystemIds(), log, isPatient });
  let instance: Instance | undefined;
  const stopped = stopOnSignal(() => instance?.stop() ?? Promise.resolve(), { clock, log });
  process.on('SIGHUP', () => instance?.reload());
  // No timer of the broker keeps the process alive by itself, and now and then there is nothing else to wait for.
  const alive = setInterval(() => undefined, ALIVE_MS);
  try {
    await runUntilStopped({
      make: (isPatient) => (instance = make(isPatient)),
      stopAsked: () => stopped.asked(),
      stopped: stopped.done,
      onReady: (running) => {
        growWithUse();
        log.info('ready', readyFields(running));
      },
      clock,
      log,
    });
  } catch (error) {
    if (!(error instanceof StartFailed)) throw error;
    throw new CommandFailure(EXIT.failed, [`cannot start: ${error.message}`]);
  } finally {
    clearInterval(alive);
  }
  log.info('stopped');
}

function readyFields(running: RunningBroker): Readonly<Record<string, unknown>> {
  const { engine, path } = running.config.store;
  const addresses = running.addresses.map(({ name, host, port }) => [
    name,
    `${host.includes(':') ? `[${host}]` : host}:${port}`,
  ]);
  return {
    version: VERSION,
    store: engine === 'disk' ? path : engine,
    addresses: Object.fromEntries(addresses),
  };
}

/** A bug must not leave a broker that answers wrongly: the store is crash-safe, so crash and say why. */
function crashOnBugs(log: Log): void {
  const crash = (what: string) => (error: unknown) => {
    log.error(what, { error });
    process.exit(EXIT.failed);
  };
  process.on('uncaughtException', crash('uncaught exception'));
  process.on('unhandledRejection', crash('unhandled rejection'));
}
