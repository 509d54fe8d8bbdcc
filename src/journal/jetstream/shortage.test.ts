import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { silentLog } from '../../base/log.js';
import { ENTRY_HEADER_BYTES, type Journal } from '../../core/ports/journal.js';
import { randomFrom } from '../../../test/support/random.js';
import { SimulatedConnection, SimulatedStream } from '../../../test/support/simulated-stream.js';
import { openJetStreamJournal } from './index.js';
import { journalNames } from './names.js';

const MIN_FREE_BYTES = 1000;
const GIVE_UP_MS = 500;
/** Time in which the journal looks for space at least once. */
const SPACE_MS = 6_000;

describe('what the journal in JetStream is short of', () => {
  const log = new SimulatedStream();
  let clock: ManualClock;
  let stream: SimulatedConnection;
  let journal: Journal;
  let freeBytes: number | undefined;

  async function pass(ms: number): Promise<void> {
    for (let i = 0; i < ms; i++) {
      clock.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async function finish<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const watched = work.finally(() => (state.isDone = true));
    watched.catch(() => undefined);
    while (!state.isDone) await pass(1);
    return watched;
  }

  const append = (): number => journal.append(Buffer.alloc(ENTRY_HEADER_BYTES + 100), true);

  async function open(claim: number): Promise<Journal> {
    const connect = (to: SimulatedStream): SimulatedConnection =>
      new SimulatedConnection({ stream: to, clock, random: randomFrom(1) });
    stream = connect(log);
    stream.freeBytes = () => Promise.resolve(freeBytes as undefined);
    const opened = await finish(
      openJetStreamJournal({
        stream,
        checkpoints: connect(new SimulatedStream()),
        names: journalNames('sim', 0),
        claim,
        minFreeBytes: MIN_FREE_BYTES,
        giveUpMs: GIVE_UP_MS,
        clock,
        monotonicMs: () => clock.now(),
        log: silentLog,
      }),
    );
    await finish(opened.replay(0, () => undefined));
    opened.start({ committed: () => undefined, lost: () => undefined });
    return opened;
  }

  beforeEach(async () => {
    clock = new ManualClock();
    freeBytes = undefined;
    journal = await open(1);
  });

  it('is nothing as long as NATS answers', async () => {
    append();
    await finish(journal.flush());
    expect(journal.shortage).toBeUndefined();
  });

  it('is an answer of NATS, until one comes', async () => {
    stream.isSevered = true;
    append();
    await pass(GIVE_UP_MS * 2);
    expect(journal.shortage).toBe('NATS does not answer');
    stream.isSevered = false;
    await pass(1000);
    expect(journal.shortage).toBeUndefined();
  });

  it('is pace, when more waits than NATS has taken', () => {
    stream.isSevered = true;
    const entry = Buffer.alloc(1 << 20);
    for (let i = 0; i <= 64; i++) journal.append(entry, true);
    expect(journal.shortage).toBe('NATS does not keep up');
  });

  it('is space, before the bound of the stream and at it', async () => {
    freeBytes = MIN_FREE_BYTES - 1;
    await pass(SPACE_MS);
    expect(journal.shortage).toBe('the stream of the journal is nearly full');
    stream.failNext = true;
    append();
    await pass(20);
    expect(journal.shortage).toBe('the stream of the journal is full');
    freeBytes = MIN_FREE_BYTES;
    await pass(SPACE_MS);
    expect(journal.shortage).toBeUndefined();
  });

  it('is the journal itself, when another owner has it', async () => {
    const [first, before] = [journal, stream];
    await open(2);
    journal = first;
    append();
    await pass(GIVE_UP_MS);
    expect(before).not.toBe(stream);
    expect(first.shortage).toBe('this node does not own the journal any more');
  });
});
