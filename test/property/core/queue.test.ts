import fc from 'fast-check';
import { describe, it } from 'vitest';
import { assertParameters, inTime, SEED, TIME_BUDGET_MS } from './budget.js';
import { QueueRun } from './queue-run.js';
import type { Step } from './queue-steps.js';
import { calmSteps, roughSteps, shapingSteps } from './queue-steps.js';

async function check(steps: readonly Step[], cold: boolean): Promise<void> {
  const run = new QueueRun();
  await inTime(run.start(), 'the start');
  if (cold) await run.run({ do: 'cold', on: true });
  for (const step of steps) await inTime(run.run(step), step);
  await inTime(run.finish(), 'the end');
}

describe(`queues against their model (seed ${SEED})`, () => {
  const cases = [
    { title: 'whatever happens on a machine that stays up, restarts included', steps: calmSteps },
    { title: 'while queues come, go and change', steps: shapingSteps },
    { title: 'with commits that wait or fail, and power cuts', steps: roughSteps },
  ];
  for (const { title, steps } of cases) {
    it(title, { timeout: TIME_BUDGET_MS * 2 }, async () => {
      const property = fc.asyncProperty(steps, fc.boolean(), check);
      await fc.assert(property, assertParameters);
    });
  }
});
