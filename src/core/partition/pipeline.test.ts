import { describe, expect, it, vi } from 'vitest';
import { BrokerError } from '../errors.js';
import { createMemoryJournal } from '../../journal/memory/index.js';
import type { MemoryFaults, MemoryJournal } from '../../journal/memory/index.js';
import { EntryWriter } from './entry-writer.js';
import { FIRST_TRY } from './lost-entries.js';
import type { PendingOperation } from './pipeline.js';
import { Pipeline } from './pipeline.js';

const noSpace = (): BrokerError => new BrokerError('unavailable', 'no space');
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

function world(): {
  journal: MemoryJournal;
  pipeline: Pipeline;
  faults: MemoryFaults;
  commit: () => void;
  entries: () => Promise<string[]>;
  said: string[];
} {
  const faults: MemoryFaults = { holdCommits: true };
  const journal = createMemoryJournal({ faults });
  const said: string[] = [];
  const pipeline = new Pipeline(journal, () => said.push('after'));
  journal.start(pipeline);
  return {
    journal,
    pipeline,
    faults,
    said,
    commit: () => journal.commit(),
    entries: async () => {
      const out: string[] = [];
      await createMemoryJournal({ image: journal.image() }).replay(0, (_, payload) =>
        out.push(Buffer.from(payload).toString()),
      );
      return out;
    },
  };
}

function operation(said: string[], name: string): PendingOperation {
  return {
    position: -1,
    commit: () => said.push(`${name} committed`),
    lose: (error) => said.push(`${name} lost: ${error.message}`),
  };
}

function write(w: EntryWriter, text: string): void {
  w.begin(8);
  w.bytes(Buffer.from(text));
}

describe('pipeline', () => {
  it('tells operations in the order of their entries, those without one when what is before them is told', () => {
    const { pipeline, commit, said } = world();
    pipeline.afterPending(operation(said, 'none'));
    write(pipeline.main, 'a');
    pipeline.append(pipeline.main, true, operation(said, 'a'));
    pipeline.afterPending(operation(said, 'after a'));
    // An entry without a payload is an entry.
    write(pipeline.main, '');
    pipeline.append(pipeline.main, true, operation(said, 'empty'));
    expect(said).toEqual(['none committed']);
    commit();
    expect(said.slice(1)).toEqual(['a committed', 'after a committed', 'empty committed', 'after']);
    expect(pipeline.waiting()).toEqual([]);
  });

  it('gathers side effects until the end of the turn, or until they have to go out', async () => {
    const { pipeline, commit, entries, said } = world();
    pipeline.side(1).bytes(Buffer.from('x'));
    pipeline.side(1).bytes(Buffer.from('y'));
    pipeline.whenDurable(operation(said, 'xy'));
    pipeline.flushSide();
    pipeline.flushSide();
    pipeline.side(1).bytes(Buffer.from('z'));
    await turn();
    commit();
    expect(await entries()).toEqual(['xy', 'z']);
    expect(said).toContain('xy committed');
    // `z` is written and not forced: whoever wants to know it on disk has that done.
    pipeline.whenDurable(operation(said, 'z'));
    expect(said.at(-1)).not.toBe('z committed');
    await turn();
    commit();
    expect(said).toContain('z committed');
    pipeline.whenDurable(operation(said, 'nothing'));
    expect(said.at(-1)).toBe('nothing committed');
  });

  it('loses newest first, and writes what holds already again before all else', async () => {
    const { pipeline, faults, commit, entries, said } = world();
    const opening = new EntryWriter(64);
    write(opening, 'opened');
    pipeline.appendLasting(opening, () => said.push('settled'));
    write(pipeline.main, 'a');
    pipeline.append(pipeline.main, true, operation(said, 'a'));
    pipeline.side(1).bytes(Buffer.from('effect'));
    await turn();
    write(pipeline.main, 'b');
    pipeline.append(pipeline.main, true, operation(said, 'b'));
    faults.failNextGroup = noSpace();
    commit();
    expect(said).toEqual(['b lost: no space', 'a lost: no space', 'settled', 'after']);
    write(pipeline.main, 'c');
    pipeline.append(pipeline.main, true, operation(said, 'c'));
    faults.failNextGroup = noSpace();
    commit();
    pipeline.flushSide();
    commit();
    write(pipeline.main, 'd');
    pipeline.append(pipeline.main, true, undefined);
    commit();
    expect(await entries()).toEqual(['opened', 'effect', 'd']);
  });

  it('tries a journal that goes on failing with little, however much was lost, and loses the order of nothing', async () => {
    const { pipeline, journal, faults, commit, entries, said } = world();
    const append = vi.spyOn(journal, 'append');
    const many = 100;
    for (let i = 0; i < many; i++) {
      pipeline.side(1).bytes(Buffer.from(`${String(i)} `));
      pipeline.flushSide();
    }
    const turns = 200;
    for (let i = many; i < turns; i++) {
      pipeline.side(1).bytes(Buffer.from(`${String(i)} `));
      if (i === 150) pipeline.whenDurable(operation(said, 'ack'));
      await turn();
      faults.failNextGroup = noSpace();
      commit();
    }
    expect(append.mock.calls.length).toBeLessThanOrEqual(many + (turns - many) * FIRST_TRY);
    expect(said.filter((one) => one.startsWith('ack'))).toEqual(['ack lost: no space']);
    pipeline.side(1).bytes(Buffer.from('last'));
    pipeline.whenDurable(operation(said, 'last'));
    for (let i = 0; i < 20; i++) {
      await turn();
      commit();
    }
    const all = Array.from({ length: turns }, (_, i) => `${String(i)} `).join('');
    expect((await entries()).join('')).toBe(`${all}last`);
    expect(said.at(-1)).toBe('after');
    expect(said).toContain('last committed');
  });

  it('writes everything that was lost before what cannot wait, in its order', async () => {
    const { pipeline, faults, commit, entries, said } = world();
    for (const effect of ['one', 'two', 'three']) {
      pipeline.side(1).bytes(Buffer.from(effect));
      pipeline.flushSide();
    }
    faults.failNextGroup = noSpace();
    commit();
    pipeline.side(1).bytes(Buffer.from('four'));
    await turn();
    // The first is tried, and the rest waits for it.
    write(pipeline.main, 'arrival');
    pipeline.append(pipeline.main, true, operation(said, 'arrival'));
    faults.failNextGroup = noSpace();
    commit();
    expect(said).toContain('arrival lost: no space');
    for (let i = 0; i < 5; i++) {
      await turn();
      pipeline.tryAgain();
      commit();
    }
    expect(await entries()).toEqual(['one', 'two', 'three', 'four']);
  });

  it('refuses side effects once it is closed', () => {
    const { pipeline, said } = world();
    pipeline.close();
    pipeline.side(1).bytes(Buffer.from('x'));
    pipeline.forceSide(operation(said, 'x'));
    pipeline.flushSide();
    expect(said).toEqual(['x lost: the broker is shutting down']);
  });
});
