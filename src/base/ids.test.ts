import { describe, expect, it } from 'vitest';
import { SeededIds, SystemIds } from './ids.js';
import { silentLog } from './log.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('ids', () => {
  it('are the same again for the same seed', () => {
    const one = new SeededIds(7);
    const two = new SeededIds(7);
    expect([one.uuid(), one.bytes(5), one.below(10)]).toEqual([two.uuid(), two.bytes(5), two.below(10)]);
    expect(one.uuid()).toMatch(UUID);
    expect(one.uuid()).not.toBe(new SeededIds(0).uuid());
  });

  it('of the system are never the same', () => {
    const ids = new SystemIds();
    expect(ids.uuid()).toMatch(UUID);
    expect(ids.uuid()).not.toBe(ids.uuid());
    expect(ids.bytes(16)).toHaveLength(16);
  });

  it('of the system are UUIDs of version 4, all bits but six random, over many draws', () => {
    const ids = new SystemIds();
    const all = Array.from({ length: 2_000 }, () => ids.uuid());
    expect(all.filter((id) => !UUID.test(id))).toEqual([]);
    expect(new Set(all).size).toBe(all.length);
    const digits = Array.from({ length: 36 }, (_, at) => new Set(all.map((id) => id[at])).size);
    const expected = Array.from('xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx', (mark) => {
      if (mark === 'x') return 16;
      return mark === 'y' ? 4 : 1;
    });
    expect(digits).toEqual(expected);
  });
});

describe('silent log', () => {
  it('takes everything and says nothing', () => {
    const log = silentLog.child({ a: 1 });
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level]('x');
    expect(log.child({})).toBe(silentLog);
  });
});
