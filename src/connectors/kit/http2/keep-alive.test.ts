import { describe, expect, it } from 'vitest';
import { KeepAlive } from './keep-alive.js';
import { HTTP2_LIMITS } from './limits.js';

const { keepaliveMs, keepaliveTimeoutMs, handshakeMs } = HTTP2_LIMITS;

/** A peer, looked at once a second; gives what is to be done at the last look. */
function peer(): {
  keepAlive: KeepAlive;
  look: (ms: number, isGreeted?: boolean) => string;
  after: (ms: number) => string;
} {
  let now = 0;
  const keepAlive = new KeepAlive(HTTP2_LIMITS, now);
  const after = (ms: number): string => keepAlive.tick((now += ms), true);
  const look = (ms: number, isGreeted = true): string => {
    let last = 'nothing';
    for (let spent = 0; spent < ms; spent += 1_000) last = keepAlive.tick((now += 1_000), isGreeted);
    return last;
  };
  return { keepAlive, look, after };
}

describe('a silent peer', () => {
  it('is asked, and gone when it does not answer', () => {
    const { look, keepAlive } = peer();
    expect(look(keepaliveMs)).toBe('ask');
    expect(look(keepaliveTimeoutMs)).toBe('nothing');
    expect(look(1_000)).toBe('gone');
    keepAlive.heard();
    expect(look(1_000)).toBe('nothing');
  });

  it('is late when its handshake is', () => {
    expect(peer().look(handshakeMs + 1_000, false)).toBe('late');
  });

  it('is not gone because the process stood still: its answer is read first', () => {
    const { look, after, keepAlive } = peer();
    expect(look(keepaliveMs)).toBe('ask');
    expect(after(10 * keepaliveTimeoutMs)).toBe('nothing');
    keepAlive.heard();
    expect(look(1_000)).toBe('nothing');
  });

  it('is gone all the same when there is none', () => {
    const { look, after } = peer();
    look(keepaliveMs);
    after(10 * keepaliveTimeoutMs);
    expect(look(1_000)).toBe('gone');
  });
});
