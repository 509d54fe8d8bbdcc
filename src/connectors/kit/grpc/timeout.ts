const MILLISECONDS_BY_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 0.001,
  n: 0.000001,
};

/**
 * A `grpc-timeout` in whole milliseconds, rounded up: up to eight digits and a unit, so up to eleven thousand years (Google's
 * Python client sends 136 years with every publish that keeps order). Undefined when it is none.
 */
export function timeoutMs(text: string): number | undefined {
  if (!/^\d{1,8}[HMSmun]$/.test(text)) return undefined;
  return Math.ceil(Number(text.slice(0, -1)) * (MILLISECONDS_BY_UNIT[text.slice(-1)] ?? 0));
}
