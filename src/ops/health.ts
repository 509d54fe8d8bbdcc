import type { JournalSpace } from '../core/ports/journal.js';

export type Phase = 'starting' | 'serving' | 'draining' | 'stopped';

export interface Readiness {
  readonly ready: boolean;
  readonly phase: Phase;
  /** Why not; empty when ready. */
  readonly reasons: readonly string[];
}

/** Ready: every listener is up, nobody asked to stop, and the store takes messages. */
export function readiness(phase: Phase, space: JournalSpace): Readiness {
  const reasons: string[] = [];
  if (phase !== 'serving') reasons.push(`the broker is ${phase}`);
  if (space.low)
    reasons.push(`the store is short of space (${space.freeBytes} bytes free): sends are refused`);
  return { ready: reasons.length === 0, phase, reasons };
}
