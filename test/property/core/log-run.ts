import { expect } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { silentLog } from '../../../src/base/log.js';
import type { OpenBroker } from '../../../src/core/broker.js';
import { openBroker } from '../../../src/core/broker.js';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { BrokerError } from '../../../src/core/errors.js';
import type { LogSettings, LogSubscription, StartPosition } from '../../../src/core/log/types.js';
import type { MemoryImage } from '../../../src/journal/memory/index.js';
import { cursorsOf, forgetInside, inside, textOf } from '../../support/inside.js';
import { WatchedJournal } from '../../support/watched-journal.js';
import type { LogStep } from './log-steps.js';
import { RETENTIONS } from './log-steps.js';
import { same } from './queue-views.js';

const LOGS = ['one', 'two'] as const;
type LogName = (typeof LOGS)[number];
const TICK_MS = 100;
const LIMITS = { checkpointEveryBytes: 4096, cleanBelowShare: 0.6, cleanBytesPerRound: 8192 };
const TARGET = 'copies' as ChannelName;

interface ModelEvent {
  readonly sequence: number;
  readonly storedAt: number;
  readonly text: string;
}

interface ModelLog {
  events: ModelEvent[];
  next: number;
  settings: LogSettings;
  /** Names to positions: what was advanced to, and what of it was surely on disk. */
  readonly cursors: Map<string, number>;
}

interface Reader {
  readonly log: LogName;
  readonly subscription: LogSubscription;
  readonly durable: string | undefined;
  next: number;
  reading: boolean;
}

/** Events whose text says so have a copy in the target queue, on a sub-channel of their own kind. */
function targetOf(text: string): ChannelName | undefined {
  const kind = text.at(0);
  if (kind === 'a') return TARGET;
  return kind === 'b' ? (`${TARGET}.g.b` as ChannelName) : undefined;
}

/** Drives logs and a model of them through the same steps: an array of events each, and a set of copies. */
export class LogRun {
  #clock = new ManualClock();
  #journal = new WatchedJournal({ extentBytes: 2048 });
  #broker!: OpenBroker;
  #logs = new Map<LogName, ModelLog>();
  #copies = new Set<string>();
  #readers: Reader[] = [];
  #serial = 0;
  /** Appends whose commit is held. */
  #held: {
    readonly apply: () => void;
    readonly events: readonly { readonly log: LogName; readonly text: string }[];
    readonly done: Promise<boolean>;
  }[] = [];
  /** Copies that were taken since the last sync: a crash may bring them back. */
  #taken = new Set<string>();

  async start(): Promise<void> {
    await this.#open();
    await this.#broker.change([
      { do: 'create-queue', channel: TARGET, settings: { subChannelMarks: ['.g.'] } },
      ...LOGS.map((channel) => ({ do: 'create-log' as const, channel: channel as unknown as ChannelName })),
    ]);
    const settings = this.#broker.logStats(name('one'))!.settings;
    for (const log of LOGS) this.#logs.set(log, { events: [], next: 1, settings, cursors: new Map() });
    this.#aim();
  }

  async #open(): Promise<void> {
    forgetInside();
    const [journal, clock] = [this.#journal, this.#clock];
    this.#broker = await openBroker({ journal, clock, log: silentLog, limits: LIMITS });
  }

  #aim(): void {
    const targets = [{ queue: TARGET, route: (m: { body: Uint8Array }) => targetOf(textOf(m.body)) }];
    for (const log of LOGS) this.#broker.setFanOut(name(log), targets);
  }

  async run(step: LogStep): Promise<void> {
    switch (step.do) {
      case 'append':
        await this.#append(step.events);
        break;
      case 'tick':
        await this.#release(false);
        this.#clock.advance(TICK_MS * step.count);
        this.#retain();
        break;
      case 'subscribe':
        this.#subscribe(step.log, step.start, step.durable);
        break;
      case 'next':
        await this.#next(step.pick, step.max);
        break;
      case 'close':
        this.#close(step.pick);
        break;
      case 'retention':
        await this.#release(false);
        await this.#broker.change([
          { do: 'update-log', channel: name(step.log), settings: RETENTIONS[step.variant]! },
        ]);
        this.#log(step.log).settings = { ...this.#log(step.log).settings, ...RETENTIONS[step.variant]! };
        this.#retain();
        break;
      case 'take':
        await this.#take(step.max);
        break;
      case 'hold':
        this.#journal.faults.holdCommits = true;
        break;
      case 'release':
        await this.#release(step.fail);
        break;
      case 'checkpoint':
        void this.#broker.checkpoint();
        break;
      case 'cold':
        this.#journal.cold = !this.#journal.cold;
        break;
      case 'replay':
        await this.#release(false);
        await this.#journal.flush();
        await this.#reopen(this.#journal.crash(0));
        this.#retain();
        break;
      case 'crash':
        await this.#crash(step.seed);
        break;
    }
    await this.#check();
  }

  #log(log: LogName): ModelLog {
    return this.#logs.get(log)!;
  }

  async #append(shapes: readonly { log: LogName; kind: string; bodyBytes: number }[]): Promise<void> {
    const events = shapes.map((shape) => ({ ...shape, text: `${shape.kind}${++this.#serial}` }));
    const now = this.#clock.now();
    const apply = (): void => {
      for (const { log, text } of events) {
        const model = this.#log(log);
        model.events.push({ sequence: model.next++, storedAt: now, text });
        if (targetOf(text) !== undefined) this.#copies.add(text);
      }
      this.#retain();
    };
    const expected = new Map(LOGS.map((log) => [log, this.#log(log).next]));
    for (const { log } of this.#held.flatMap((held) => held.events))
      expected.set(log, expected.get(log)! + 1);
    const done = this.#broker
      .append(
        events.map(({ log, text, bodyBytes }) => ({
          channel: name(log),
          body: Buffer.from(`${text}:`.padEnd(bodyBytes, '.')),
        })),
      )
      .then(
        (results) => {
          results.forEach((result, i) => {
            const { log } = events[i]!;
            same([result.sequence, result.storedAt], [expected.get(log)!, now]);
            expected.set(log, expected.get(log)! + 1);
          });
          return true;
        },
        () => false,
      );
    const held = { apply, done, events };
    if (this.#journal.faults.holdCommits === true) this.#held.push(held);
    else {
      expect(await done).toBe(true);
      this.#taken.clear();
      apply();
    }
  }

  async #release(fail: boolean): Promise<void> {
    this.#journal.faults.holdCommits = false;
    this.#journal.faults.failNextGroup = fail ? new BrokerError('unavailable', 'no space') : undefined;
    this.#journal.memory.commit();
    this.#journal.faults.failNextGroup = undefined;
    for (const { apply, done } of this.#held) if (await done) apply();
    this.#held = [];
    await turn();
  }

  #retain(): void {
    const now = this.#clock.now();
    for (const log of LOGS) {
      const { settings, events } = this.#log(log);
      const { retentionCount, retentionMs, retentionBytes } = settings;
      if (retentionCount > 0) events.splice(0, Math.max(0, events.length - retentionCount));
      while (retentionMs > 0 && events[0] !== undefined && events[0].storedAt + retentionMs <= now)
        events.shift();
      if (retentionBytes === 0) continue;
      // Stored bytes are the broker's own: it must be within its bound, or down to the last event.
      const stats = this.#broker.logStats(name(log))!;
      expect(stats.bytes <= retentionBytes || stats.events === 1).toBe(true);
      while (events[0] !== undefined && events[0].sequence < stats.firstSequence) events.shift();
    }
  }

  #subscribe(log: LogName, start: StartPosition, durable: string | undefined): void {
    const model = this.#log(log);
    const taken = durable !== undefined && this.#readers.some((r) => r.log === log && r.durable === durable);
    const request = { channel: name(log), start, durable };
    if (taken) {
      expect(() => this.#broker.subscribe(request)).toThrow(/already/);
      return;
    }
    const kept = durable === undefined ? undefined : model.cursors.get(durable);
    const next = kept === undefined ? this.#startOf(model, start) : kept + 1;
    if (durable !== undefined && kept === undefined) model.cursors.set(durable, next - 1);
    this.#readers.push({ log, durable, next, subscription: this.#broker.subscribe(request), reading: false });
  }

  #startOf({ events, next }: ModelLog, start: StartPosition): number {
    const first = events[0]?.sequence ?? next;
    const at = (time: number): number => events.find((e) => e.storedAt >= time)?.sequence ?? next;
    if (start.from === 'new') return next;
    if (start.from === 'first') return first;
    if (start.from === 'last') return events.at(-1)?.sequence ?? first;
    if (start.from === 'sequence') return Math.max(first, start.sequence);
    return at(start.from === 'time' ? this.#clock.now() - start.time : this.#clock.now() - start.deltaMs);
  }

  async #next(pick: number, max: number): Promise<void> {
    const reader = this.#readers[pick % Math.max(1, this.#readers.length)];
    if (reader === undefined) return;
    const { events } = this.#log(reader.log);
    const expected = events.filter((e) => e.sequence >= reader.next).slice(0, max);
    // With nothing to read it would wait.
    if (expected.length === 0) return;
    const found = await reader.subscription.next(max);
    same(
      found.map((e) => [e.sequence, e.storedAt, textOf(e.message.body)]),
      expected.map((e) => [e.sequence, e.storedAt, e.text]),
    );
    reader.next = expected.at(-1)!.sequence + 1;
    if (reader.durable === undefined) return;
    reader.subscription.advance(reader.next - 1);
    this.#log(reader.log).cursors.set(reader.durable, reader.next - 1);
  }

  #close(pick: number): void {
    const [reader] = this.#readers.splice(pick % Math.max(1, this.#readers.length), 1);
    reader?.subscription.close();
  }

  async #take(max: number): Promise<void> {
    const handOut = { kind: 'auto' } as const;
    const taken = await this.#broker.receive({ channel: TARGET, max, waitMs: 0, handOut });
    for (const { message } of taken) {
      const text = textOf(message.body);
      if (!this.#copies.delete(text)) expect.fail(`${text} was copied twice, or never`);
      this.#taken.add(text);
    }
  }

  async #reopen(image: MemoryImage): Promise<void> {
    const { cold } = this.#journal;
    this.#readers = [];
    this.#held = [];
    this.#journal = new WatchedJournal({ image });
    this.#journal.cold = cold;
    this.#clock = new ManualClock(this.#clock.now());
    await this.#open();
    this.#aim();
    await turn();
  }

  async #crash(seed: number): Promise<void> {
    const before = this.#logs;
    const pending = new Set(this.#held.flatMap(({ events }) => events.map((e) => e.text)));
    const sure = new Set(this.#copies);
    await this.#reopen(this.#journal.crash(seed));
    const copies = new Set(inside(this.#journal.memory).messages.map((m) => m.text));
    this.#logs = new Map();
    for (const log of LOGS) {
      const old = before.get(log)!;
      const stats = this.#broker.logStats(name(log))!;
      const events = (await this.#readAll(log)).map(({ text, ...rest }) => ({ ...rest, text }));
      const last = stats.lastSequence;
      if (last < old.next - 1) expect.fail(`${log} ends at ${last}; ${old.next - 1} was durable`);
      for (const e of events) {
        const known = old.events.find((o) => o.sequence === e.sequence);
        // Events that retention had taken may be back until it comes again; a new one must be one that was on its way.
        if (known !== undefined) same(e, known);
        else if (e.sequence >= old.next && !pending.has(e.text)) expect.fail(`${e.text} came from nowhere`);
        // An event and its copy are one entry.
        if (e.sequence >= old.next && copies.has(e.text) !== (targetOf(e.text) !== undefined))
          expect.fail(`${e.text} is in its log, its copy is not where it should be`);
      }
      // A position is not waited for: after a crash it may be an earlier one, never a later.
      const cursors = new Map(cursorsOf(log));
      for (const [durable, at] of cursors) expect(at).toBeLessThanOrEqual(old.cursors.get(durable) ?? -1);
      this.#logs.set(log, { events, next: last + 1, settings: stats.settings, cursors });
    }
    const all = new Set([...this.#logs.values()].flatMap(({ events }) => events.map((e) => e.text)));
    for (const text of sure) if (!copies.has(text)) expect.fail(`the copy of ${text} is gone`);
    for (const text of copies) {
      if (sure.has(text) || this.#taken.has(text)) continue;
      // Retention may have taken the event from its log as the broker opened.
      const kept = all.has(text) || [...this.#logs.values()].some(({ settings }) => retains(settings));
      if (!pending.has(text) || !kept) expect.fail(`a copy of ${text} came from nowhere`);
    }
    this.#copies = copies;
    this.#retain();
  }

  async #readAll(log: LogName): Promise<ModelEvent[]> {
    const events = await this.#broker.readLog({ channel: name(log), fromSequence: 1, max: 10_000 });
    return events.map((e) => ({ sequence: e.sequence, storedAt: e.storedAt, text: textOf(e.message.body) }));
  }

  async #check(): Promise<void> {
    await turn();
    const seen = inside(this.#journal.memory);
    same(seen.faults, []);
    for (const log of LOGS) {
      const { events, next } = this.#log(log);
      same(await this.#readAll(log), events);
      const stats = this.#broker.logStats(name(log))!;
      same([stats.lastSequence, stats.events], [next - 1, events.length]);
      same([stats.firstSequence], [events[0]?.sequence ?? next]);
      events.forEach((e, i) => {
        if (e.sequence !== events[0]!.sequence + i) expect.fail(`${log} has a gap before ${e.sequence}`);
      });
    }
    const found = seen.messages.filter((m) => m.state === 'ready').map((m) => m.text);
    same([...found].sort(), [...this.#copies].sort());
  }

  async finish(): Promise<void> {
    await this.#release(false);
    for (const reader of this.#readers) reader.subscription.close();
    while (this.#copies.size > 0) await this.#take(10);
    await this.#broker.change(LOGS.map((log) => ({ do: 'delete-log' as const, channel: name(log) })));
    expect(this.#broker.figures()).toMatchObject({ messages: 0, liveBytes: 0, logs: 0, subChannels: 0 });
    await this.#broker.close();
  }
}

function name(log: string): ChannelName {
  return log as ChannelName;
}

function retains({ retentionMs, retentionCount, retentionBytes }: LogSettings): boolean {
  return retentionMs + retentionCount + retentionBytes > 0;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
