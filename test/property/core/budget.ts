/**
 * What a property test may spend, and where it starts: `POLYMQ_PROPERTY_RUNS`, `POLYMQ_PROPERTY_SEED` (a number, or
 * `random` to explore). The default is one seed, so that a change fails by its own doing only.
 */
export const RUNS = Number(process.env['POLYMQ_PROPERTY_RUNS'] ?? 150);
const { POLYMQ_PROPERTY_SEED: asked = '20261130' } = process.env;
export const SEED = asked === 'random' ? Math.floor(Math.random() * 0x7fffffff) : Number(asked);
/** By hand, as long as so many runs take. */
export const TIME_BUDGET_MS = Math.max(60_000, RUNS * 400);

/** No step needs time of the machine's own: one that takes longer than this hangs. */
const STEP_MS_MAX = 3_000;

export const assertParameters = {
  numRuns: RUNS,
  seed: SEED,
  interruptAfterTimeLimit: TIME_BUDGET_MS,
  markInterruptAsFailure: false,
};

export async function inTime(done: Promise<void>, step: object | string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`hangs: ${JSON.stringify(step)}`)), STEP_MS_MAX);
  });
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}
