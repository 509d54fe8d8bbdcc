export type Phase = 'starting' | 'serving' | 'draining' | 'stopped';

export interface Readiness {
  readonly ready: boolean;
  readonly phase: Phase;
  /** Why not; empty when ready. */
  readonly reasons: readonly string[];
}

/** `shortage`: why the broker refuses sends now. Ready: every listener is up, nobody asked to stop, and the store takes messages. */
export function readiness(phase: Phase, shortage: string | undefined): Readiness {
  const reasons: string[] = [];
  if (phase !== 'serving') reasons.push(`the broker is ${phase}`);
  if (shortage !== undefined) reasons.push(`sends are refused: ${shortage}`);
  return { ready: reasons.length === 0, phase, reasons };
}
