import { describe, expect, it } from 'vitest';
import { History, type Order } from './history.js';

/** `count` confirmed messages of one group. */
function sent(order: Order, count: number): History {
  const history = new History('q', order);
  for (let i = 0; i < count; i++) history.confirm(history.send(0));
  return history;
}

describe('what a history finds', () => {
  it('a loss', () => {
    const history = sent('none', 3);
    history.send(0);
    history.deliver({ sequence: 0 });
    history.deliver({ sequence: 2 });
    expect(history.missing).toEqual([1]);
  });

  it('a message that is back for good reason, and one that is back for none', () => {
    const history = sent('none', 1);
    history.deliver({ sequence: 0 });
    history.acking(0);
    history.deliver({ sequence: 0 });
    expect(history.redelivered).toBe(1);
    history.acked(0);
    expect(() => history.deliver({ sequence: 0 })).toThrow('acknowledged for good');
  });

  it('a message that was stored twice, and one that nobody sent', () => {
    const history = sent('none', 1);
    history.deliver({ sequence: 0, id: 'a' });
    history.deliver({ sequence: 0, id: 'a' });
    expect(() => history.deliver({ sequence: 0, id: 'b' })).toThrow('there twice');
    expect(() => history.deliver({ sequence: 1 })).toThrow('never sent');
  });

  it('in a group: a message that overtakes one that is not done', () => {
    const history = sent('strict', 4);
    history.deliver({ sequence: 0 });
    history.deliver({ sequence: 1 });
    history.deliver({ sequence: 0 });
    expect(() => history.deliver({ sequence: 2 })).toThrow('2 came before 1');
  });

  it('in a group nothing when what is skipped is done, or its sender gave up', () => {
    const history = sent('strict', 3);
    for (const sequence of [0, 1, 2]) history.deliver({ sequence });
    history.acking(1);
    const abandoned = history.send(0);
    history.abandon(abandoned);
    const next = history.send(0);
    history.confirm(next);
    for (const sequence of [0, 2, next, abandoned]) history.deliver({ sequence });
    expect(history.late).toBe(1);
  });

  it('on a connection: what comes for the first time behind a later one', () => {
    const history = sent('connection', 4);
    history.deliver({ sequence: 1 });
    history.deliver({ sequence: 0, redelivered: true });
    history.deliver({ sequence: 2 });
    history.connected();
    history.deliver({ sequence: 1 });
    expect(() => history.deliver({ sequence: 0 })).toThrow('0 came behind 1');
  });
});
