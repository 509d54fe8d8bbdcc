import fc from 'fast-check';
import { describe, it } from 'vitest';
import { assertParameters, inTime, SEED, TIME_BUDGET_MS } from './budget.js';
import { LogRun } from './log-run.js';
import { logSteps } from './log-steps.js';

describe(`logs against their model (seed ${SEED})`, () => {
  it(
    'gapless and whole, with their copies, through failing commits and power cuts',
    { timeout: TIME_BUDGET_MS * 2 },
    async () => {
      const property = fc.asyncProperty(logSteps, async (steps) => {
        const run = new LogRun();
        await inTime(run.start(), 'the start');
        for (const step of steps) await inTime(run.run(step), step);
        await inTime(run.finish(), 'the end');
      });
      await fc.assert(property, assertParameters);
    },
  );
});
