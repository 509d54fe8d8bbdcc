import { describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import { Lifecycle, type Stage } from './lifecycle.js';

function stages(
  names: readonly string[],
  seen: string[],
  broken: Partial<Record<string, Error>> = {},
): Stage[] {
  const say = async (what: string): Promise<void> => {
    seen.push(what);
    const error = broken[what];
    if (error !== undefined) throw error;
  };
  return names.map((name) => ({
    name,
    start: () => say(`start ${name}`),
    drain: () => say(`drain ${name}`),
    stop: () => say(`stop ${name}`),
  }));
}

describe('Lifecycle', () => {
  it('starts in order, drains and stops in reverse', async () => {
    const seen: string[] = [];
    const life = new Lifecycle(stages(['a', 'b'], seen), new ManualClock(), silentLog);
    expect(life.phase).toBe('starting');
    await life.start();
    expect(life.phase).toBe('serving');
    await life.stop(100);
    expect(life.phase).toBe('stopped');
    expect(seen).toEqual(['start a', 'start b', 'drain b', 'drain a', 'stop b', 'stop a']);
  });

  it('stops once, whoever asks', async () => {
    const seen: string[] = [];
    const life = new Lifecycle(stages(['a'], seen), new ManualClock(), silentLog);
    await life.start();
    await Promise.all([life.stop(1), life.stop(1)]);
    await life.stop(1);
    expect(seen).toEqual(['start a', 'drain a', 'stop a']);
  });

  it('stops what was started when a start fails, and throws that failure', async () => {
    const seen: string[] = [];
    const broken = { 'start b': new Error('port taken') };
    const life = new Lifecycle(stages(['a', 'b', 'c'], seen, broken), new ManualClock(), silentLog);
    await expect(life.start()).rejects.toThrow('port taken');
    expect(seen).toEqual(['start a', 'start b', 'stop b', 'stop a']);
    expect(life.phase).toBe('stopped');
  });

  it.each([
    ['an error where nobody asked it to stop', false],
    ['none where somebody did: a stage that waits ends so', true],
  ])('that fails to start is %s', async (_, isStopped) => {
    const errors: string[] = [];
    const log = { ...silentLog, error: (message: string) => errors.push(message) };
    let fail = (_error: Error): void => undefined;
    const waiting: Stage = {
      name: 'waiting',
      start: () => new Promise<void>((_resolve, reject) => (fail = reject)),
      stop: () => Promise.resolve(),
    };
    const life = new Lifecycle([waiting], new ManualClock(), log);
    const starting = life.start();
    const stopping = isStopped ? life.stop(0) : undefined;
    fail(new Error('no more waiting'));
    await expect(starting).rejects.toThrow('no more waiting');
    await stopping;
    expect(errors).toEqual(isStopped ? [] : ['start failed']);
  });

  it('stops all stages whatever one does, then throws', async () => {
    const seen: string[] = [];
    const broken = { 'drain b': new Error('x'), 'stop b': new Error('disk') };
    const life = new Lifecycle(stages(['a', 'b'], seen, broken), new ManualClock(), silentLog);
    await life.start();
    await expect(life.stop(1)).rejects.toThrow('disk');
    expect(seen.at(-1)).toBe('stop a');
  });

  it('lets the stage through that is starting when it is told to stop, and starts no other', async () => {
    const seen: string[] = [];
    let go = (): void => undefined;
    const slow: Stage = {
      name: 'slow',
      start: () => new Promise<void>((resolve) => (go = resolve)),
      stop: async () => void seen.push('stop slow'),
    };
    const life = new Lifecycle([slow, ...stages(['b'], seen)], new ManualClock(), silentLog);
    const starting = life.start();
    const stopping = life.stop(10);
    expect(life.phase).toBe('draining');
    go();
    await expect(starting).rejects.toThrow('stopped while starting');
    await stopping;
    expect(seen).toEqual(['stop slow']);
    expect(life.phase).toBe('stopped');
  });

  it('ends when the stage that was starting fails after all', async () => {
    const seen: string[] = [];
    let fail = (): void => undefined;
    const slow: Stage = {
      name: 'slow',
      start: () => new Promise<void>((_, reject) => (fail = () => reject(new Error('disk')))),
      stop: async () => void seen.push('stop slow'),
    };
    const life = new Lifecycle([slow], new ManualClock(), silentLog);
    const starting = life.start();
    const stopping = life.stop(10);
    fail();
    await expect(starting).rejects.toThrow('disk');
    await stopping;
    expect(seen).toEqual(['stop slow']);
  });

  it('leaves a drain behind that does not end', async () => {
    const clock = new ManualClock();
    const stuck: Stage = {
      name: 'stuck',
      start: async () => undefined,
      drain: () => new Promise(() => undefined),
      stop: async () => undefined,
    };
    const life = new Lifecycle([stuck], clock, silentLog);
    await life.start();
    const stopped = life.stop(1_000);
    await vi.waitFor(() => expect(clock.pending).toBe(1));
    clock.advance(10_000);
    await stopped;
    expect(life.phase).toBe('stopped');
    expect(clock.pending).toBe(0);
  });
});
