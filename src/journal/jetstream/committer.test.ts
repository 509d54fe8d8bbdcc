import { describe, expect, it } from 'vitest';
import { SystemClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { Batch } from './batch.js';
import { Committer } from './committer.js';
import { GroupKind } from './group.js';
import { markMessage } from './marks.js';
import { journalNames } from './names.js';
import { PublishError, type FencedStream, type StoredMessage } from './stream.js';

const EXTENT_BYTES = 1 << 20;
const names = journalNames('x', 0);

/** Stores what is published, answers nothing, and then holds the mark of another writer. */
function silentStream(): FencedStream {
  const stored: StoredMessage[] = [{ seq: 1, subject: names.mark, payload: new Uint8Array() }];
  const stream: Partial<FencedStream> = {
    publish: (subject, payload) => {
      stored.push({ seq: stored.length + 1, subject, payload });
      const payloadOfMark = markMessage({ extentBytes: EXTENT_BYTES, claim: 2 });
      stored.push({ seq: stored.length + 1, subject: names.mark, payload: payloadOfMark });
      return Promise.reject(new PublishError('unknown', 'no answer'));
    },
    next: (seq) => Promise.resolve(stored[seq - 1]),
    lastSeq: () => Promise.resolve(stored.length),
  };
  return stream as FencedStream;
}

/** Sends one batch to it; resolves, when the committer has failed, with everything that was heard. */
function deposed(committed: (heard: string[], below: number) => void): Promise<readonly string[]> {
  const heard: string[] = [];
  return new Promise((resolve) => {
    const committer = new Committer({
      stream: silentStream(),
      names,
      extentBytes: EXTENT_BYTES,
      claim: 1,
      giveUpMs: 1000,
      epoch: 1,
      logEnd: 0,
      clock: new SystemClock(),
      monotonicMs: () => performance.now(),
      log: { ...silentLog, error: (message) => heard.push(message) },
      stored: () => heard.push('stored'),
      committed: (below) => committed(heard, below),
      failed: () => {
        heard.push('failed');
        setImmediate(resolve, heard);
      },
      roomCame: () => undefined,
      resumed: () => undefined,
      deposed: () => heard.push('deposed'),
    });
    const batch = new Batch({ start: 0, prev: 0, subject: 0, kind: GroupKind.entries });
    batch.add(new Uint8Array(100));
    committer.send(batch);
  });
}

describe('an owner that is deposed before it had its answer', () => {
  it('tells of what it finds in front of the other mark: it is in the log', async () => {
    const heard = await deposed((told, below) => told.push(`committed ${below}`));
    expect(heard).toEqual(['stored', 'committed 100', 'deposed', 'failed']);
  });

  it('stops, whatever comes of what it tells, and does not hide that', async () => {
    const heard = await deposed(() => {
      throw new Error('of the program');
    });
    const told = 'settling commits ended in an error of the program';
    expect(heard).toEqual(['stored', 'deposed', 'failed', told]);
  });
});
