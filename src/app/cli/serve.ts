import type { Command } from 'commander';
import { SystemClock } from '../../base/clock.js';
import { SystemIds } from '../../base/ids.js';
import type { Log } from '../../base/log.js';
import { createLog, standardOutput } from '../../ops/logging.js';
import { unknownVariables } from '../read-config.js';
import type { Instance, RunningBroker } from '../start.js';
import { VERSION } from '../version.js';
import { addSettings, configOf } from './options.js';
import { CommandFailure, EXIT, type Terminal } from './output.js';

const ALIVE_MS = 60_000;

export function serveCommand(program: Command, terminal: Terminal): void {
  const command = program.command('serve').description('run the broker until SIGTERM or SIGINT');
  addSettings(command).action(async () => {
    await serve(command, terminal);
  });
}

/** Runs until a signal has drained the broker; a second signal ends the process at once. */
async function serve(command: Command, terminal: Terminal): Promise<void> {
  const { config } = configOf(command, terminal);
  const log = createLog(config.log, standardOutput());
  crashOnBugs(log);
  for (const name of unknownVariables(terminal.environment))
    log.warn('unknown setting in the environment', { name });

  // Loaded here, so that the other commands do not wait for the whole broker.
  const { createInstance } = await import('../start.js');
  const make = (isPatient: boolean): Instance =>
    createInstance({ config, clock: new SystemClock(), ids: new SystemIds(), log, isPatient });
  let instance = make(false);
  const stopped = stopOnSignal(() => instance, log);
  process.on('SIGHUP', () => instance.reload());
  while (!stopped.asked()) {
    const running = await started(instance, stopped);
    if (running === undefined) break;
    log.info('ready', readyFields(running));
    const reason = await Promise.race([running.ended, stopped.done.then(() => undefined)]);
    if (reason === undefined || stopped.asked()) break;
    log.warn('this node is the owner no longer and becomes a standby', { reason });
    await instance.stop(0);
    instance = make(true);
  }
  await stopped.done;
  log.info('stopped');
}

/** Undefined: it was stopped before it served. */
async function started(
  instance: Instance,
  stopped: { asked(): boolean },
): Promise<RunningBroker | undefined> {
  try {
    return await instance.start();
  } catch (error) {
    if (stopped.asked()) return undefined;
    throw new CommandFailure(EXIT.failed, [`cannot start: ${messageOf(error)}`]);
  }
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

function stopOnSignal(
  instance: () => Instance,
  log: Log,
): { readonly done: Promise<void>; asked(): boolean } {
  let asked = false;
  const done = new Promise<void>((resolve, reject) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      if (asked) {
        log.warn('stopped at once by a second signal', { signal });
        process.exit(EXIT.failed);
      }
      asked = true;
      log.info('draining', { signal });
      // No timer of the broker keeps the process alive by itself, and at the end there may be nothing else to wait for.
      const alive = setInterval(() => undefined, ALIVE_MS);
      instance()
        .stop()
        .finally(() => clearInterval(alive))
        .then(resolve, reject);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
  // Observed at the end of `serve`; until then a rejection is not an unhandled one.
  done.catch(() => undefined);
  return { done, asked: () => asked };
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
