import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../base/clock.js';
import { deferred } from '../../base/deferred.js';
import { silentLog } from '../../base/log.js';
import { ENTRY_HEADER_BYTES, type Journal } from '../../core/ports/journal.js';
import { randomFrom } from '../../../test/support/random.js';
import { SimulatedConnection, SimulatedStream } from '../../../test/support/simulated-stream.js';
import { openJetStreamJournal, type JetStreamJournalOptions } from './index.js';
import { journalNames } from './names.js';

const names = journalNames('sim', 0);
const EXTENT_BYTES = 4096;

function entry(text: string): Uint8Array {
  return Buffer.concat([Buffer.alloc(ENTRY_HEADER_BYTES), Buffer.from(text)]);
}

/** Nodes on one pair of streams. */
class Rig {
  readonly clock = new ManualClock();
  readonly followers: Journal[] = [];
  /** Reasons why owners 2 and later were deposed. */
  readonly deposed: string[] = [];
  readonly #log = new SimulatedStream();
  readonly #checkpoints = new SimulatedStream();

  open(claim: JetStreamJournalOptions['claim']): {
    readonly journal: Promise<Journal>;
    sever(isSevered: boolean): void;
  } {
    const connect = (stream: SimulatedStream): SimulatedConnection =>
      new SimulatedConnection({ stream, clock: this.clock, random: randomFrom(1) });
    const [stream, checkpoints] = [connect(this.#log), connect(this.#checkpoints)];
    const journal = openJetStreamJournal({
      stream,
      checkpoints,
      names,
      claim,
      extentBytes: EXTENT_BYTES,
      clock: this.clock,
      monotonicMs: () => this.clock.now(),
      log: silentLog,
      onDeposed: (reason) => {
        if (typeof claim === 'number' && claim > 1) this.deposed.push(reason);
      },
    });
    return { journal, sever: (isSevered) => (stream.isSevered = checkpoints.isSevered = isSevered) };
  }

  async finish<T>(work: Promise<T>): Promise<T> {
    const state = { isDone: false };
    const watched = work.finally(() => (state.isDone = true));
    watched.catch(() => undefined);
    for (let i = 0; i < 20_000 && !state.isDone; i++) await this.pass(1);
    return watched;
  }

  async pass(ms: number): Promise<void> {
    for (let i = 0; i < ms; i++) {
      this.clock.advance(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Opens it for an owner; what is replayed. */
  async own(claim: number): Promise<Owner> {
    const opened = this.open(claim);
    const journal = await this.finish(opened.journal);
    const texts = await this.finish(replayed(journal));
    journal.start({ committed: () => undefined, lost: () => undefined });
    return { journal, texts, sever: (isSevered) => opened.sever(isSevered) };
  }

  async append(journal: Journal, texts: readonly string[]): Promise<void> {
    for (const text of texts) {
      journal.append(entry(text.padEnd(900, '.')), true);
      await this.finish(journal.flush());
    }
  }
}

interface Owner {
  readonly journal: Journal;
  readonly texts: readonly string[];
  readonly sever: (isSevered: boolean) => void;
}

/** From the newest checkpoint on, which counts as texts of its own. */
async function replayed(journal: Journal): Promise<string[]> {
  const checkpoint = await journal.checkpoint();
  const texts =
    checkpoint === undefined ? [] : (JSON.parse(Buffer.from(checkpoint.data).toString()) as string[]);
  await journal.replay(checkpoint?.position ?? 0, (_position, payload) => {
    texts.push(Buffer.from(payload).toString().replace(/\.+$/, ''));
  });
  return texts;
}

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => `entry ${from + i}`);

describe('a follower of the journal', () => {
  /** An owner that wrote 30 entries, and a follower that read the first ten and was cut off for the others. */
  async function cutOff(afterCut: (rig: Rig, owner: Journal, sever: Owner['sever']) => Promise<void>) {
    const rig = new Rig();
    const { journal: owner, sever } = await rig.own(1);
    await rig.append(owner, numbered(0, 10));
    const claim = deferred<number>();
    const follower = rig.open(claim.promise);
    const journal = await rig.finish(follower.journal);
    rig.followers.push(journal);
    const replay = replayed(journal);
    replay.catch(() => undefined);
    await rig.pass(300);
    follower.sever(true);
    await afterCut(rig, owner, sever);
    follower.sever(false);
    return { rig, replay, claim };
  }

  it('takes over what it has missed for a while', async () => {
    const { rig, replay, claim } = await cutOff((at, owner) => at.append(owner, numbered(10, 30)));
    claim.resolve(2);
    expect(await rig.finish(replay)).toEqual(numbered(0, 30));
  });

  it('that was given up leaves the journal to whom its node opens next', async () => {
    const { rig, replay, claim } = await cutOff((at, owner) => at.append(owner, numbered(10, 12)));
    const given = rig.followers.at(-1) as Journal;
    const closed = given.close();
    const { journal, texts } = await rig.own(2);
    claim.resolve(2);
    await rig.pass(500);
    await rig.append(journal, numbered(12, 20));
    expect(texts).toEqual(numbered(0, 12));
    expect(rig.deposed).toEqual([]);
    await expect(rig.finish(replay)).rejects.toMatchObject({ kind: 'draining' });
    await rig.finish(closed);
  });

  it.each([
    ['as the owner', false],
    ['still following', false],
    ['as the owner', true],
    ['still following', true],
  ])(
    'that missed what is there no more, behind checkpoints, begins anew, %s; the owner began a new part of the log: %s',
    async (when, isNewPart) => {
      const { rig, replay, claim } = await cutOff(async (at, owner, sever) => {
        await at.append(owner, numbered(10, 20));
        for (const to of [20, 25]) {
          await at.append(owner, numbered(20, to));
          const data = Buffer.from(JSON.stringify(numbered(0, to)));
          await at.finish(owner.writeCheckpoint(owner.position, [data]));
        }
        owner.discard(owner.extents().slice(0, 4));
        await at.pass(100);
        if (isNewPart) {
          sever(true);
          await expect(at.append(owner, ['lost'])).rejects.toMatchObject({ kind: 'unavailable' });
          sever(false);
          await at.pass(1000);
        }
        await at.append(owner, numbered(25, 30));
        await at.pass(100);
      });
      if (when === 'as the owner') claim.resolve(2);
      await expect(rig.finish(replay)).rejects.toMatchObject({ kind: 'unavailable' });
      claim.resolve(2);
      expect((await rig.own(3)).texts).toEqual(numbered(0, 30));
    },
  );
});
