import type { Clock } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { TakeOverFailed } from './ownership.js';
import type { Instance, RunningBroker } from './start.js';

/** Pause before a node begins anew that could not take over. */
const AGAIN_MS = 500;

/** An instance cannot start, with the reason as its cause. */
export class StartFailed extends Error {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'StartFailed';
  }
}

export interface RunParts {
  /** A patient one waits for a cluster that does not answer. */
  readonly make: (isPatient: boolean) => Instance;
  readonly stopAsked: () => boolean;
  /** Resolves when what was made last has been stopped because somebody asked for it. */
  readonly stopped: Promise<void>;
  readonly onReady: (running: RunningBroker) => void;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Runs one instance after the other until somebody asks to stop: a node that loses the channels, or cannot take them over because NATS does
 * not answer, begins anew. Rejects with `StartFailed` when one cannot start, and with whatever a stop says.
 */
export async function runUntilStopped(parts: RunParts): Promise<void> {
  const { make, stopAsked, stopped, log, clock } = parts;
  let instance = make(false);
  for (;;) {
    const running = await started(instance, parts);
    if (stopAsked()) break;
    if (running !== undefined) {
      parts.onReady(running);
      const reason = await Promise.race([running.ended, stopped.then(() => undefined)]);
      if (reason === undefined || stopAsked()) break;
      log.warn('this node is the owner no longer and becomes a standby', { reason });
      await instance.stop(0);
      // A signal that came meanwhile was for the one that is gone.
      if (stopAsked()) break;
    } else {
      await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
      if (stopAsked()) break;
    }
    instance = make(true);
  }
  await stopped;
}

/** Undefined: it was stopped before it served, or could not take over. */
async function started(instance: Instance, { stopAsked, log }: RunParts): Promise<RunningBroker | undefined> {
  try {
    return await instance.start();
  } catch (error) {
    if (stopAsked()) return undefined;
    if (!(error instanceof TakeOverFailed)) throw new StartFailed(error);
    log.warn('this node cannot take over and waits again', { error: error.message });
    return undefined;
  }
}
