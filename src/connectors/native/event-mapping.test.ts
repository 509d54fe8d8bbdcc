import { describe, expect, it } from 'vitest';
import { startPosition, unixMs } from './event-mapping.js';
import { EventsStoreType, Subscribe } from './wire/messages.js';

describe('start positions', () => {
  it.each([
    [EventsStoreType.startNewOnly, 0n, { from: 'new' }],
    [EventsStoreType.startFromFirst, 0n, { from: 'first' }],
    [EventsStoreType.startFromLast, 0n, { from: 'last' }],
    [EventsStoreType.startAtSequence, 7n, { from: 'sequence', sequence: 7 }],
    [EventsStoreType.startAtTime, 1_700_000_000_123_456_789n, { from: 'time', time: 1_700_000_000_123 }],
    [EventsStoreType.startAtTimeDelta, 30n, { from: 'delta', deltaMs: 30_000 }],
  ])('type %i', (eventsStoreType, eventsStoreValue, expected) => {
    const request = Subscribe.decode(Subscribe.encode({ eventsStoreType, eventsStoreValue }));
    expect(startPosition(request)).toEqual(expected);
  });
});

describe('a time of unknown unit', () => {
  it.each([
    ['seconds', 1_700_000_000n],
    ['milliseconds', 1_700_000_000_000n],
    ['microseconds', 1_700_000_000_000_000n],
    ['nanoseconds', 1_700_000_000_000_000_000n],
  ])('%s', (_unit, value) => {
    expect(unixMs(value)).toBe(1_700_000_000_000);
  });
});
