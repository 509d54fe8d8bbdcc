import type { Clock } from '../../base/clock.js';
import type { Log } from '../../base/log.js';
import { EXIT } from './output.js';

/**
 * A signal that follows within this is the first one again: npm and process managers pass on to the broker what its whole
 * process group was sent, and Ctrl-C is sent to a group.
 */
const SAME_SIGNAL_MS = 1_000;

/** What of a process stops it. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT', listener: (signal: NodeJS.Signals) => void): unknown;
  exit(code: number): void;
}

export interface StopSignals {
  /** Ends with `stop`. */
  readonly done: Promise<void>;
  asked(): boolean;
}

/** Calls `stop` at the first SIGTERM or SIGINT; a second one ends the process at once. */
export function stopOnSignal(
  stop: () => Promise<void>,
  { clock, log, source = process }: { clock: Clock; log: Log; source?: SignalSource },
): StopSignals {
  let askedAt: number | undefined;
  const done = new Promise<void>((resolve, reject) => {
    const onSignal = (signal: NodeJS.Signals): void => {
      if (askedAt === undefined) {
        askedAt = clock.now();
        log.info('draining', { signal });
        stop().then(resolve, reject);
      } else if (clock.now() >= askedAt + SAME_SIGNAL_MS) {
        log.warn('stopped at once by a second signal', { signal });
        source.exit(EXIT.failed);
      }
    };
    source.on('SIGTERM', onSignal);
    source.on('SIGINT', onSignal);
  });
  // Observed at the end of `serve`; until then a rejection is not an unhandled one.
  done.catch(() => undefined);
  return { done, asked: () => askedAt !== undefined };
}
