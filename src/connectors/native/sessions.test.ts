import { describe, expect, it } from 'vitest';
import { Sessions } from './sessions.js';

describe('sessions', () => {
  it('hear of a drain, also those that come after it', () => {
    const sessions = new Sessions();
    const heard: string[] = [];
    sessions.enter({ drain: () => heard.push('first') });
    sessions.drain();
    sessions.enter({ drain: () => heard.push('late') });
    expect(heard).toEqual(['first', 'late']);
    expect(sessions.draining).toBe(true);
    expect(sessions.count).toBe(2);
  });

  it('are idle when all have left and their work is done', async () => {
    const sessions = new Sessions();
    await sessions.idle();
    const leave = sessions.enter({ drain: () => undefined });
    let done: () => void = () => undefined;
    sessions.supervise(new Promise((resolve) => (done = resolve)));
    let isIdle = false;
    const idle = sessions.idle().then(() => (isIdle = true));
    leave();
    leave();
    await Promise.resolve();
    expect(isIdle).toBe(false);
    done();
    await idle;
    expect(sessions.count).toBe(0);
  });
});
