import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { stopOnSignal } from './stop-signals.js';

function world() {
  const clock = new ManualClock();
  const exits: number[] = [];
  const source = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) });
  let stops = 0;
  let end = (): void => undefined;
  const stop = (): Promise<void> => {
    stops++;
    return new Promise((resolve) => (end = resolve));
  };
  const signals = stopOnSignal(stop, { clock, log: silentLog, source });
  return { clock, exits, source, signals, stops: () => stops, end: () => end() };
}

describe('signals that stop the broker', () => {
  it.each(['SIGTERM', 'SIGINT'])('%s stops it once, and is waited for', async (signal) => {
    const { signals, source, stops, end, exits } = world();
    expect(signals.asked()).toBe(false);
    source.emit(signal, signal);
    expect(signals.asked()).toBe(true);
    end();
    await signals.done;
    expect([stops(), exits]).toEqual([1, []]);
  });

  it('that come twice at once are one: the whole process group got it, and npm passes it on', () => {
    const { clock, exits, source, stops } = world();
    source.emit('SIGINT', 'SIGINT');
    clock.advance(999);
    source.emit('SIGINT', 'SIGINT');
    expect([stops(), exits]).toEqual([1, []]);
  });

  it('that are repeated later end it at once', () => {
    const { clock, exits, source, stops } = world();
    source.emit('SIGTERM', 'SIGTERM');
    clock.advance(1_000);
    source.emit('SIGINT', 'SIGINT');
    expect([stops(), exits]).toEqual([1, [1]]);
  });
});
