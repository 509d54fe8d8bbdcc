import { expect, it } from 'vitest';
import { ManualClock } from '../../../base/clock.js';
import { Heartbeat } from './heartbeat.js';

/** A line, and the times of its heartbeats and of its end, in ms since it began. */
function lineOn(clock: ManualClock, intervalSeconds: number) {
  const began = clock.now();
  const line = {
    bytesRead: 0,
    bytesWritten: 0,
    paused: false,
    sent: [] as number[],
    deadAt: undefined as number | undefined,
    sendHeartbeat(): void {
      line.bytesWritten += 8;
      line.sent.push(clock.now() - began);
    },
    onDeadPeer(): void {
      line.deadAt = clock.now() - began;
    },
  };
  return { line, heartbeat: new Heartbeat(clock, line, intervalSeconds) };
}

it('comes within the interval, whenever the last octets were written: some clients wait no longer', () => {
  for (const writtenAt of [1, 499, 501, 999, 1001]) {
    const clock = new ManualClock();
    const { line, heartbeat } = lineOn(clock, 2);
    clock.advance(writtenAt);
    line.bytesWritten += 100;
    clock.advance(4_000);
    heartbeat.stop();
    const next = line.sent.find((at) => at > writtenAt) ?? Infinity;
    expect([writtenAt, next - writtenAt >= 1_000 || next === Infinity, next - writtenAt <= 1_500]).toEqual([
      writtenAt,
      true,
      true,
    ]);
  }
});

it('comes every half interval on a silent line, which is dead after two', () => {
  const clock = new ManualClock();
  const { line } = lineOn(clock, 2);
  clock.advance(10_000);
  expect(line.sent).toEqual([1_000, 2_000, 3_000]);
  expect(line.deadAt).toBe(4_000);
  expect(clock.pending).toBe(0);
});

it('never comes where the client wants none, and a peer that is not read is not dead', () => {
  const clock = new ManualClock();
  const off = lineOn(clock, 0);
  const paused = lineOn(clock, 1);
  paused.line.paused = true;
  clock.advance(10_000);
  expect([off.line.sent.length, off.line.deadAt, paused.line.deadAt]).toEqual([0, undefined, undefined]);
});
