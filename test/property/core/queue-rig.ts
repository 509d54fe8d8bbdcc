import { expect } from 'vitest';
import { ManualClock } from '../../../src/base/clock.js';
import { silentLog } from '../../../src/base/log.js';
import { SCHEDULER_GRAIN_MS } from '../../../src/base/scheduler.js';
import type { OpenBroker } from '../../../src/core/broker.js';
import { openBroker } from '../../../src/core/broker.js';
import type { ChannelName } from '../../../src/core/channel-name.js';
import type { Consumer, LeaseToken } from '../../../src/core/queue/types.js';
import type { MemoryImage } from '../../../src/journal/memory/index.js';
import type { Inside } from '../../support/inside.js';
import { forgetInside, inside } from '../../support/inside.js';
import { WatchedJournal } from '../../support/watched-journal.js';
import type { Handed } from './comparing.js';
import { compare, takeHanded } from './comparing.js';
import type { ModelMessage } from './queue-model.js';
import { baseOf, isSub, QueueModel } from './queue-model.js';
import { QUEUES } from './queue-steps.js';
import { fromSeen, same } from './queue-views.js';
import type { Trace } from './traces.js';
import { Traces } from './traces.js';

export const TICK_MS = 100;
const EXTENT_BYTES = 2048;
/** Small, so that checkpoints, the cleaner and discards run all the time. */
const LIMITS = { checkpointEveryBytes: 4096, cleanBelowShare: 0.6, cleanBytesPerRound: 8192 };

export interface Wait {
  readonly channel: string;
  readonly abort: AbortController;
  done: boolean;
}

export interface Consuming {
  readonly channel: string;
  readonly handle: Consumer;
  credit: number;
  gone: boolean;
}

/** A broker beside its model: how both begin, end and begin anew, and how they are compared. */
export abstract class QueueRig {
  protected clock = new ManualClock();
  protected journal = new WatchedJournal({ extentBytes: EXTENT_BYTES });
  protected broker!: OpenBroker;
  protected readonly model: QueueModel;
  protected serial = 0;
  protected waits: Wait[] = [];
  protected consumers: Consuming[] = [];
  protected handed: Handed[] = [];
  protected tokens: { readonly text: string; readonly token: LeaseToken }[] = [];
  protected seen: Inside = { messages: [], ready: new Map(), dedup: new Map(), faults: [] };
  protected readonly traces = new Traces();
  protected readonly highest = new Map<string, number>();
  /** Sends and the like that wait while commits are held. */
  protected outstanding: Promise<unknown>[] = [];
  protected heldSends: { readonly texts: readonly string[]; readonly done: Promise<unknown> }[] = [];

  constructor() {
    this.model = new QueueModel(this.clock.now());
    this.model.order = (channel) => (this.seen.ready.get(channel) ?? []).map((seen) => seen.text);
  }

  async start(): Promise<void> {
    await this.open();
    for (const [name, settings] of Object.entries(QUEUES)) await this.create(name, settings);
    await this.settleDown();
  }

  protected async create(name: string, settings: object): Promise<void> {
    await this.broker.change([
      { do: 'create-queue', channel: name as ChannelName, settings, ifMissing: true },
    ]);
    if (this.model.queues.has(name)) return;
    this.model.create(name, settings);
    this.highest.delete(name);
  }

  protected async open(): Promise<void> {
    forgetInside();
    this.broker = await openBroker({
      journal: this.journal,
      clock: this.clock,
      log: silentLog,
      limits: LIMITS,
    });
    this.broker.registerRouter('test', (rest, letter) => {
      expect(letter.message.body.length).toBeGreaterThan(0);
      return rest === 'nowhere' ? [] : [{ channel: rest as ChannelName }];
    });
  }

  // Ends and new beginnings ------------------------------------------------------------------------------------

  protected async restart(): Promise<void> {
    const before = this.seen.ready;
    await this.broker.close();
    await this.reopen(this.journal.memory.image());
    this.traces.afterRestart();
    this.forgetMemory();
    this.model.restart();
    this.seen = inside(this.journal.memory);
    await this.afterOpen();
    this.sameOrder(before);
  }

  /** Ends without a last checkpoint and with nothing lost: the records alone must give the same state. */
  protected async replay(): Promise<void> {
    await this.writeAgain();
    await this.journal.flush();
    const before = this.seen.ready;
    await this.reopen(this.journal.crash(0));
    this.traces.afterRestart();
    this.forgetMemory();
    this.model.restart();
    this.seen = inside(this.journal.memory);
    await this.afterOpen();
    this.sameOrder(before);
  }

  /** What was ready before a restart, and still is, stands in the same order. */
  protected sameOrder(before: Inside['ready']): void {
    for (const [channel, line] of before) {
      const after = (this.seen.ready.get(channel) ?? []).map((seen) => seen.text);
      const still = line.map((seen) => seen.text).filter((text) => after.includes(text));
      same([channel, after.filter((text) => still.includes(text))], [channel, still]);
    }
  }

  /** Whatever a failed commit left over is written with the next entry: one that does nothing. */
  protected async writeAgain(): Promise<void> {
    await this.broker.purge('dead' as ChannelName, { ready: false, delayed: false, inFlight: false });
  }

  protected forgetMemory(): void {
    for (const [name, settings] of this.model.queues) {
      if (settings.durable) continue;
      this.highest.delete(name);
      this.tokens = this.tokens.filter(({ token }) => baseOf(token.channel) !== name);
    }
  }

  protected async reopen(image: MemoryImage): Promise<void> {
    const { cold } = this.journal;
    this.waits = [];
    this.consumers = [];
    this.handed = [];
    this.outstanding = [];
    this.heldSends = [];
    this.journal = new WatchedJournal({ image });
    this.journal.cold = cold;
    this.clock = new ManualClock(this.clock.now());
    await this.open();
  }

  protected async afterOpen(): Promise<void> {
    for (const [name, settings] of Object.entries(QUEUES)) {
      if (!this.model.queues.has(name)) await this.create(name, settings);
    }
    this.model.lookAtAll();
    this.model.land();
    this.model.trim();
    // What is overdue is done by the first sweep.
    this.clock.advance(SCHEDULER_GRAIN_MS);
    this.model.now += SCHEDULER_GRAIN_MS;
    this.model.tick(0);
    this.model.land();
    await this.settleDown();
    this.clock.advance(TICK_MS - SCHEDULER_GRAIN_MS);
    this.model.tick(TICK_MS - SCHEDULER_GRAIN_MS);
    this.model.land();
    await this.settleDown();
  }

  protected async crash(seed: number): Promise<void> {
    const { syncs } = this.journal.stats();
    // A lease that had used up its deliveries, or its life, may be dropped as the broker opens.
    const spent = [...this.model.messages.values()].filter((m) => {
      const over = this.model.overLimit(m) || (m.expiresAt > 0 && m.expiresAt <= this.model.now);
      return m.state === 'inFlight' && over;
    });
    for (const m of spent) this.traces.note(m.text, undefined, 0);
    const image = this.journal.crash(seed);
    this.model.held = false;
    await this.reopen(image);
    const seen = inside(this.journal.memory);
    expect(seen.faults).toEqual([]);
    this.traces.afterCrash(seen.messages, syncs);
    this.adopt(seen);
    this.seen = seen;
    await this.afterOpen();
  }

  /** The broker is right: a crash leaves one of several states, and it was just found to be one of them. */
  protected adopt(seen: Inside): void {
    const model = this.model;
    model.messages.clear();
    model.arriving = [];
    for (const [name, settings] of [...model.queues]) if (!settings.durable) model.drop(name);
    for (const name of Object.keys(QUEUES)) {
      // A dead letter may have made it anew as the broker opened.
      const stats = this.broker.queueStats(name as ChannelName);
      if (stats !== undefined && !model.queues.has(name)) model.create(name, stats.settings);
    }
    for (const one of seen.messages) {
      const m = fromSeen(one);
      model.messages.set(m.text, m);
      if (m.state === 'arriving') model.arriving.push(m);
    }
    for (const [base, ids] of model.dedup) {
      const found = seen.dedup.get(base) ?? new Map<string, { at: number }>();
      ids.clear();
      for (const [id, { at }] of found) ids.set(id, { at, text: '' });
    }
    // A transfer that was on its way starts anew; numbers may be used again that nobody ever saw.
    this.highest.clear();
    // Of a sequence that was lost with the power nothing may be said.
    this.tokens = this.tokens.filter(({ text }) => model.messages.has(text));
  }

  // Comparing ------------------------------------------------------------------------------------------------

  protected owns(text: string, token: LeaseToken): boolean {
    const m = this.model.messages.get(text);
    return (
      m?.state === 'inFlight' &&
      m.sequence === token.sequence &&
      m.attempt === token.attempt &&
      baseOf(m.channel) === baseOf(token.channel)
    );
  }

  /** Channels of a place that have something to hand out now. */
  protected available(channel: string): boolean {
    const inPlace = isSub(channel) ? this.model.in(channel) : this.model.inFamily(channel);
    const now = this.clock.now();
    const lives = (m: ModelMessage): boolean => m.expiresAt === 0 || m.expiresAt > now;
    return inPlace.some((m) => m.state === 'ready' && lives(m) && !this.model.locked(m.channel));
  }

  /** Lets everything happen that needs no time, then compares. */
  protected async settleDown(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    await Promise.all(this.outstanding);
    this.outstanding = [];
    this.takeHanded();
    if (!this.model.held) for (const m of this.model.messages.values()) m.early = false;
    this.seen = inside(this.journal.memory);
    this.model.startStep();
    same(this.seen.faults, []);
    compare(this.model, this.seen, this.highest);
    this.checkWaiting();
    this.checkOwners();
    for (const text of new Set([...this.traces.texts(), ...this.model.messages.keys()])) this.note(text);
    this.traces.endStep(this.journal.stats().syncs);
  }

  protected takeHanded(): void {
    this.tokens.push(...takeHanded(this.model, this.handed, this.clock.now()));
    this.tokens = this.tokens.slice(-100);
    this.handed = [];
  }

  protected checkWaiting(): void {
    this.waits = this.waits.filter((wait) => !wait.done);
    for (const wait of this.waits) {
      if (this.available(wait.channel))
        expect.fail(`a receive waits at ${wait.channel} beside ready messages`);
    }
    for (const consumer of this.consumers) {
      if (consumer.credit > 0 && this.available(consumer.channel)) {
        expect.fail(`a consumer with credit waits at ${consumer.channel} beside ready messages`);
      }
    }
  }

  protected checkOwners(): void {
    for (const { text, token } of this.tokens) {
      const owns = this.broker.holds(token);
      if (owns !== this.owns(text, token)) {
        expect.fail(
          `token ${JSON.stringify(token)} of ${text} ${owns ? 'owns' : 'does not own'} its message`,
        );
      }
    }
    for (const base of this.model.queues.keys()) {
      const stats = this.broker.queueStats(base as ChannelName)!;
      const of = (state: string): number => this.model.inFamily(base).filter((m) => m.state === state).length;
      same(
        [base, stats.ready, stats.delayed, stats.inFlight],
        [base, of('ready'), of('delayed'), of('inFlight')],
      );
    }
  }

  protected isDurable(channel: string): boolean {
    return this.model.settings(channel).durable;
  }

  /** Remembers where a message is now. */
  protected note(text: string): Trace {
    const m = this.model.messages.get(text);
    const at = m !== undefined && this.isDurable(m.channel) ? m.channel : undefined;
    return this.traces.note(text, at, m?.count ?? 0);
  }
}
