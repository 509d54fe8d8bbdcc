import { describe, expect, it } from 'vitest';
import { LocalBus } from './bus.js';

describe('LocalBus', () => {
  it('has nobody to call', async () => {
    const bus = new LocalBus();
    await expect(bus.request({ id: 'b' })).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(bus.open({ id: 'b' })).rejects.toMatchObject({ kind: 'unavailable' });
    await bus.close();
  });

  it('registers a service once, until it is taken back', () => {
    const bus = new LocalBus();
    const remove = bus.serve('broker', {});
    expect(() => bus.serve('broker', {})).toThrow(/registered/);
    remove();
    remove();
    bus.serve('broker', {});
  });
});
