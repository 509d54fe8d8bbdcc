import { describe, expect, it } from 'vitest';
import { Exposition } from './exposition.js';

describe('figures as text', () => {
  it('are gauges with the prefix of the product, read at each writing', () => {
    const exposition = new Exposition();
    let value = 1;
    exposition.gauge('things', 'Things.', () => [
      { labels: { kind: 'a', of: 'b' }, value },
      { value: 0.5 },
      { value: NaN },
      { value: -Infinity },
      { value: Infinity },
    ]);
    value = 2;
    expect(exposition.text()).toBe(
      '# HELP polymq_things Things.\n# TYPE polymq_things gauge\n' +
        'polymq_things{kind="a",of="b"} 2\npolymq_things 0.5\npolymq_things NaN\npolymq_things -Inf\npolymq_things +Inf\n',
    );
  });

  it('escape what would end a line or a label', () => {
    const exposition = new Exposition();
    exposition.gauge('x', 'One\\two\nlines "quoted".', () => [
      { labels: { queue: 'a"b\\c\nd é' }, value: 1 },
    ]);
    expect(exposition.text()).toBe(
      '# HELP polymq_x One\\\\two\\nlines "quoted".\n# TYPE polymq_x gauge\n' +
        'polymq_x{queue="a\\"b\\\\c\\nd é"} 1\n',
    );
  });

  it('go on with families under names of their own', () => {
    const samples = [{ suffix: '_bucket', labels: { le: '+Inf' }, value: 3 }];
    const text = new Exposition().text([
      { name: 'own_seconds', help: 'Seconds.', type: 'histogram', samples },
    ]);
    expect(text).toBe(
      '# HELP own_seconds Seconds.\n# TYPE own_seconds histogram\nown_seconds_bucket{le="+Inf"} 3\n',
    );
  });
});
