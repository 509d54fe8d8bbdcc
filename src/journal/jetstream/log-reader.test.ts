import { describe, expect, it } from 'vitest';
import { markMessage } from './marks.js';
import { GROUP_HEADER_BYTES, GroupKind, stampGroup } from './group.js';
import { LogReader } from './log-reader.js';
import { journalNames } from './names.js';
import type { StoredMessage } from './stream.js';

const EXTENT_BYTES = 1 << 20;
const names = journalNames('x', 0);

/** The log as a reader finds it: marks, and groups of a hundred bytes. */
class Stream {
  readonly accepted: number[] = [];
  readonly reader = new LogReader(undefined, ([group]) => this.accepted.push(group?.header.start ?? -1));
  #seq = 0;
  #epoch = 0;

  mark(prev?: number): this {
    this.#epoch = this.#seq + 1;
    this.#take(
      names.mark,
      markMessage({ extentBytes: EXTENT_BYTES, claim: 1, ...(prev === undefined ? {} : { prev }) }),
    );
    return this;
  }

  group(start: number, prev = start): this {
    const message = Buffer.alloc(GROUP_HEADER_BYTES + 100);
    const head = { kind: GroupKind.entries, extentBytes: EXTENT_BYTES, epoch: this.#epoch, claim: 0 };
    stampGroup(message, { ...head, start, prev });
    this.#take(names.extent(0), message);
    return this;
  }

  #take(subject: string, payload: Buffer): void {
    const message: StoredMessage = { seq: ++this.#seq, subject, payload };
    this.reader.take(message);
  }
}

describe('a reader of the log', () => {
  it('leaves out what the mark of its writer takes back', () => {
    const { reader, accepted } = new Stream().mark().group(0).group(100).mark(100).group(300, 100);
    reader.finish();
    expect(accepted).toEqual([0, 300]);
    expect(reader.end).toBe(400);
  });

  it('goes on behind the mark of another writer, wherever the log ends', () => {
    const { reader, accepted } = new Stream().mark().group(0).mark().group(100);
    reader.finish();
    expect(accepted).toEqual([0, 100]);
  });

  it('refuses a mark that says the log ends behind what it has read', () => {
    const stream = new Stream().mark().group(0);
    expect(() => stream.mark(200)).toThrow(/lacks messages in front of message 3/);
  });

  it('refuses a stream in which much does not continue the log', () => {
    const stream = new Stream().mark().group(0);
    expect(() => {
      for (let start = 1000; ; start += 100) stream.group(start);
    }).toThrow(/lacks messages in front of message 131/);
  });
});
