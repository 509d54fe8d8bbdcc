import { describe, expect, it } from 'vitest';
import { status } from '../kit/grpc-status.js';
import { AllOperationFigures } from './operation-figures.js';

describe('figures of operations', () => {
  it('count calls by status, and how long they took', () => {
    const all = new AllOperationFigures();
    all.of('publisher', 'getTopic');
    const figures = all.of('publisher', 'publish');
    expect(all.of('publisher', 'publish')).toBe(figures);
    figures.count(status.OK, 0.5);
    figures.count(status.OK, 30);
    figures.count(status.NOT_FOUND, 20_000);
    const [operations, durations] = all.families();
    const labels = { service: 'publisher', operation: 'publish' };
    expect(operations).toMatchObject({ name: 'kubemq_pubsub_operations_total', type: 'counter' });
    expect(operations?.samples).toEqual([
      { labels: { ...labels, status: 'OK' }, value: 2 },
      { labels: { ...labels, status: 'NOT_FOUND' }, value: 1 },
    ]);
    const at = (le: string): unknown =>
      durations?.samples.find((sample) => sample.labels?.['le'] === le)?.value;
    expect([at('0.001'), at('0.025'), at('0.05'), at('10'), at('+Inf')]).toEqual([1, 1, 2, 2, 3]);
    expect(durations?.samples.slice(-2)).toEqual([
      { suffix: '_sum', labels, value: 20.0305 },
      { suffix: '_count', labels, value: 3 },
    ]);
  });
});
