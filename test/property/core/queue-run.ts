import { expect } from 'vitest';
import type { ChannelName } from '../../../src/core/channel-name.js';
import { BrokerError } from '../../../src/core/errors.js';
import type { Consumer, LeaseToken } from '../../../src/core/queue/types.js';
import type { ModelMessage, ModelSend } from './queue-model.js';
import { baseOf, isSub } from './queue-model.js';
import { textOf } from '../../support/inside.js';
import type { Handed } from './comparing.js';
import type { Consuming, Wait } from './queue-rig.js';
import { QueueRig, TICK_MS } from './queue-rig.js';
import type { SettleShape, Step } from './queue-steps.js';
import { QUEUES, VARIANTS } from './queue-steps.js';
import { outgoing, settlementOf } from './queue-views.js';

/** Drives a broker and its model through the same steps and compares them after each. */
export class QueueRun extends QueueRig {
  async run(step: Step): Promise<void> {
    switch (step.do) {
      case 'send':
        this.send(step);
        break;
      case 'receive':
        this.receive(step);
        break;
      case 'abort': {
        const wait = this.waits[step.pick % Math.max(1, this.waits.length)];
        wait?.abort.abort();
        break;
      }
      case 'consume':
        this.consume(step);
        break;
      case 'grant': {
        const consumer = this.consumers[step.pick % Math.max(1, this.consumers.length)];
        if (consumer === undefined) break;
        consumer.credit += step.credit;
        consumer.handle.grant(step.credit);
        break;
      }
      case 'cancel': {
        const [consumer] = this.consumers.splice(step.pick % Math.max(1, this.consumers.length), 1);
        consumer?.handle.cancel();
        break;
      }
      case 'settle':
        this.settle(step);
        break;
      case 'purge':
        this.purge(step);
        break;
      case 'tick':
        // A message whose life ends on its way would leave at the next sweep only: commits do not wait that long here.
        await this.release(false);
        for (let i = 1; i < step.count; i++) {
          this.tick();
          await this.settleDown();
        }
        this.tick();
        break;
      default:
        await this.rare(step);
    }
    await this.settleDown();
  }

  protected async rare(step: Step): Promise<void> {
    switch (step.do) {
      case 'hold':
        this.journal.faults.holdCommits = true;
        this.model.held = true;
        break;
      case 'release':
        await this.release(step.fail);
        break;
      case 'fail':
        await this.fail();
        break;
      case 'checkpoint': {
        const done = this.broker.checkpoint();
        if (step.wait && !this.model.held) await done;
        break;
      }
      case 'cold':
        this.journal.cold = step.on;
        break;
      case 'delete':
        await this.release(false);
        await this.delete(step.queue);
        break;
      case 'update':
        await this.release(false);
        await this.update(step.queue, VARIANTS[step.variant]!);
        break;
      case 'restart':
        await this.release(false);
        await this.restart();
        break;
      case 'replay':
        await this.release(false);
        await this.replay();
        break;
      case 'crash':
        await this.crash(step.seed);
        break;
      default:
        throw new Error(`no such step: ${step.do}`);
    }
  }

  // Steps ----------------------------------------------------------------------------------------------------

  protected send({ batch, allOrNothing, early }: Step & { do: 'send' }): void {
    // While commits are held, a batch of one family: else what needs no disk would wait for what does.
    const first = baseOf(batch[0]!.channel);
    const shapes = this.model.held ? batch.filter((one) => baseOf(one.channel) === first) : batch;
    const sends = shapes.map((shape): ModelSend & { transient: boolean } => ({
      ...shape,
      text: `m${++this.serial}`,
      maxReceiveQueue: shape.late ? 'late' : '',
    }));
    const messages = sends.map(outgoing);
    const expected = this.model.send(sends, allOrNothing);
    const stored = sends.filter((_, i) => expected[i] === 'stored');
    const noted = stored.map((one) => this.note(one.text));
    // One that is forced takes its whole batch along.
    const forced = stored.some((one) => !one.transient && this.isDurable(one.channel));
    const before = this.handed.length;
    const sent = this.broker.send(messages, { allOrNothing, early });
    this.handedEarly(this.handed.slice(before), early);
    const done = sent.then(
      (outcomes) => {
        outcomes.forEach((outcome, i) => {
          const found = outcome.ok ? (outcome.duplicate ? 'duplicate' : 'stored') : outcome.error.kind;
          const ok = expected[i] === found || (allOrNothing && !outcome.ok && expected[i] !== 'stored');
          if (!ok)
            expect.fail(`${sends[i]!.text} to ${sends[i]!.channel}: ${found}, expected ${expected[i]}`);
        });
        if (forced) for (const trace of noted) trace.mark = -1;
        return true;
      },
      (error: unknown) => {
        expect(error).toBeInstanceOf(BrokerError);
        return false;
      },
    );
    if (this.model.held) {
      this.heldSends.push({ texts: stored.map((s) => s.text), done });
      this.model.land(true);
    } else {
      this.watch(done.then((ok) => expect(ok).toBe(true)));
      this.model.land();
    }
  }

  /** What was handed out while a send was called is not durable yet, unless it needs no disk. */
  protected handedEarly(handed: readonly Handed[], sentEarly: boolean): void {
    for (const { delivery, early } of handed) {
      const both = sentEarly && early === true;
      if (!both && this.isDurable(delivery.channel))
        expect.fail(`${textOf(delivery.message.body)} was handed out before it was durable`);
      if (both) this.model.landEarly(textOf(delivery.message.body));
    }
  }

  protected receive(step: Step & { do: 'receive' }): void {
    const abort = new AbortController();
    const wait: Wait = { channel: step.channel, abort, done: false };
    const batch = {};
    const exists = this.model.exists(step.channel);
    const done = this.broker
      .receive({
        channel: step.channel as ChannelName,
        max: step.max,
        waitMs: step.waitMs,
        handOut: step.leaseMs < 0 ? { kind: 'auto' } : { kind: 'lease', leaseMs: step.leaseMs },
        signal: abort.signal,
        ...(step.maxBytes > 0 && { maxBytes: step.maxBytes }),
        ...(step.perSubChannelMax > 0 && { perSubChannelMax: step.perSubChannelMax }),
      })
      .then(
        (deliveries) => {
          wait.done = true;
          expect(exists).toBe(true);
          expect(deliveries.length).toBeLessThanOrEqual(step.max);
          const bytes = deliveries.reduce((sum, d) => sum + d.message.body.length, 0);
          if (step.maxBytes > 0 && deliveries.length > 1) expect(bytes).toBeLessThanOrEqual(step.maxBytes);
          for (const delivery of deliveries) this.handed.push({ delivery, leaseMs: step.leaseMs, batch });
          return deliveries.length;
        },
        (error: unknown) => {
          wait.done = true;
          expect((error as BrokerError).kind).toBe('not-found');
          return -1;
        },
      );
    if (step.waitMs > 0) {
      this.waits.push(wait);
      return;
    }
    const waiting = this.waits.some((w) => !w.done && baseOf(w.channel) === baseOf(step.channel));
    const available = exists && this.available(step.channel);
    this.watch(
      done.then((count) => {
        // With others waiting, what is there may be theirs.
        if (available && !waiting) expect(count).toBeGreaterThan(0);
      }),
    );
  }

  protected consume(step: Step & { do: 'consume' }): void {
    if (!this.model.exists(step.channel)) return;
    const consuming: { -readonly [K in keyof Consuming]: Consuming[K] } = {
      channel: step.channel,
      handle: undefined as unknown as Consumer,
      credit: step.credit,
      gone: false,
    };
    // Whose lease ends before the message is durable keeps it until then: that is not modelled.
    const early = step.early && step.leaseMs <= 0;
    consuming.handle = this.broker.consume({
      early,
      channel: step.channel as ChannelName,
      credit: step.credit,
      priority: step.priority,
      handOut: step.leaseMs < 0 ? { kind: 'auto' } : { kind: 'lease', leaseMs: step.leaseMs },
      onDeliveries: (deliveries) => {
        consuming.credit -= deliveries.length;
        expect(consuming.credit).toBeGreaterThanOrEqual(0);
        const batch = {};
        for (const delivery of deliveries)
          this.handed.push({ delivery, leaseMs: step.leaseMs, batch, early });
      },
      onCancel: () => {
        consuming.gone = true;
      },
    });
    this.consumers.push(consuming);
  }

  protected settle(step: Step & { do: 'settle' }): void {
    // All but acknowledgements would wait until the message is durable.
    const mayGo = (m: ModelMessage): boolean => m.early !== true || step.how.kind === 'ack';
    const held = [...this.model.messages.values()].filter((m) => m.state === 'inFlight' && mayGo(m));
    const picked = new Set(held.length === 0 ? [] : step.picks.map((pick) => held[pick % held.length]!));
    // One whose life is over would leave its new queue at once, with the next sweep or with whoever looks first.
    const leaves = step.how.kind === 'move' || step.how.kind === 'reject';
    const now = this.clock.now();
    const chosen = [...picked].filter((m) => !leaves || m.expiresAt === 0 || m.expiresAt > now);
    const tokens: LeaseToken[] = chosen.map((m) => ({
      channel: m.channel as ChannelName,
      sequence: m.sequence,
      attempt: m.attempt,
    }));
    const old = this.tokens.filter(({ text, token }) => !this.owns(text, token));
    for (const pick of step.stale) if (old.length > 0) tokens.push(old[pick % old.length]!.token);
    if (tokens.length === 0) return;
    this.apply(chosen, step.how);
    const noted = chosen.map((m) => this.note(m.text));
    const refused = tokens.map((_, i) => i).slice(chosen.length);
    const done = this.broker
      .settle({ tokens, settlement: settlementOf(step.how), durable: step.durable })
      .then((result) => {
        expect(result.refused).toEqual(refused);
        if (step.durable) for (const trace of noted) trace.mark = -1;
      });
    this.await(done, step.durable);
  }

  protected await(done: Promise<unknown>, durable: boolean): void {
    if (this.model.held && durable) this.heldSends.push({ texts: [], done: done.catch(() => undefined) });
    else this.watch(done);
    if (this.model.held) this.model.land(true);
    else this.model.land();
  }

  /** Its failure shows at the end of the step. */
  protected watch(done: Promise<unknown>): void {
    done.catch(() => undefined);
    this.outstanding.push(done);
  }

  protected apply(messages: readonly ModelMessage[], how: SettleShape): void {
    if (how.kind === 'nack') {
      // What follows on each other and is of one family goes back together.
      for (let at = 0; at < messages.length;) {
        const base = baseOf(messages[at]!.channel);
        const end = messages.findIndex((m, i) => i > at && baseOf(m.channel) !== base);
        const together = messages.slice(at, end < 0 ? messages.length : end);
        this.model.giveBack(together, how);
        at += together.length;
      }
      return;
    }
    for (const m of messages) {
      if (how.kind === 'ack') this.model.remove(m);
      else if (how.kind === 'reject') this.model.bury(m, 'rejected');
      else if (how.kind === 'move') this.model.move(m, 'dead', 'moved');
      else m.leaseEndsAt = how.leaseMs > 0 ? this.clock.now() + how.leaseMs : 0;
    }
  }

  protected purge(step: Step & { do: 'purge' }): void {
    const { ready, delayed, inFlight } = step;
    const scope = { ready, delayed, inFlight };
    const expected = { ready: 0, delayed: 0, inFlight: 0 };
    const exists = this.model.exists(step.channel);
    const texts: string[] = [];
    const sub = isSub(step.channel);
    const inScope = sub ? this.model.in(step.channel) : this.model.inFamily(step.channel);
    for (const m of exists ? inScope : []) {
      if (m.state === 'arriving' || !scope[m.state]) continue;
      expected[m.state]++;
      texts.push(m.text);
      this.model.remove(m);
    }
    if (exists && !sub && ready && delayed && inFlight) this.model.dedup.get(step.channel)?.clear();
    const noted = texts.map((text) => this.note(text));
    const done = this.broker.purge(step.channel as ChannelName, scope).then(
      (result) => {
        expect(exists).toBe(true);
        expect(result).toEqual(expected);
        for (const trace of noted) trace.mark = -1;
      },
      (error: unknown) => {
        expect((error as BrokerError).kind).toBe('not-found');
        expect(exists).toBe(false);
      },
    );
    this.await(done, exists && this.model.settings(step.channel).durable);
  }

  protected tick(): void {
    this.clock.advance(TICK_MS);
    this.model.tick(TICK_MS);
    if (this.model.held) this.model.land(true);
    else this.model.land();
  }

  protected async release(fail: boolean): Promise<void> {
    this.journal.faults.holdCommits = false;
    this.model.held = false;
    if (fail) this.journal.faults.failNextGroup = new BrokerError('unavailable', 'no space');
    this.journal.memory.commit();
    this.journal.faults.failNextGroup = undefined;
    // What was handed out early is written again; its sender waits for that.
    if (fail) await this.writeAgain();
    const held = this.heldSends;
    this.heldSends = [];
    for (const { texts, done } of held) if ((await done) === false) this.model.lose(new Set(texts));
    this.model.land();
    await this.settleDown();
  }

  /** An acknowledgement and a send in one group that fails: the first holds all the same, the second never was. */
  protected async fail(): Promise<void> {
    await this.release(false);
    const held = [...this.model.messages.values()].filter((m) => m.state === 'inFlight');
    const m = held[0];
    if (m !== undefined) {
      const token = { channel: m.channel as ChannelName, sequence: m.sequence, attempt: m.attempt };
      this.watch(this.broker.settle({ tokens: [token], settlement: { kind: 'ack' } }));
      this.model.remove(m);
    }
    this.journal.faults.failNextGroup = new BrokerError('unavailable', 'no space');
    const text = `m${++this.serial}`;
    const body = Buffer.from(`${text}:`);
    await expect(this.broker.send([{ channel: 'plain' as ChannelName, body }])).rejects.toThrow('no space');
    this.journal.faults.failNextGroup = undefined;
  }

  protected async delete(queue: string): Promise<void> {
    await this.broker.change([{ do: 'delete-queue', channel: queue as ChannelName }]);
    const texts = this.model.inFamily(queue).map((m) => m.text);
    this.model.drop(queue);
    for (const text of texts) this.note(text).mark = -1;
    this.consumers = this.consumers.filter((c) => {
      if (baseOf(c.channel) === queue) expect(c.gone).toBe(true);
      return baseOf(c.channel) !== queue;
    });
    await this.settleDown();
    await this.create(queue, QUEUES[queue]!);
  }

  protected async update(queue: string, settings: object): Promise<void> {
    await this.broker.change([{ do: 'update-queue', channel: queue as ChannelName, settings }]);
    this.model.queues.set(queue, { ...this.model.settings(queue), ...settings });
  }

  /** Everything leaves: nothing may be left of it. */
  async finish(): Promise<void> {
    await this.release(false);
    for (const consumer of this.consumers) consumer.handle.cancel();
    this.consumers = [];
    for (const wait of this.waits) wait.abort.abort();
    await this.settleDown();
    for (const base of this.model.queues.keys()) {
      this.purge({ do: 'purge', channel: base, ready: false, delayed: true, inFlight: true });
      await this.settleDown();
    }
    for (const channel of this.model.queues.keys()) {
      const receive = {
        do: 'receive',
        channel,
        max: 5,
        maxBytes: 0,
        perSubChannelMax: 0,
        leaseMs: -1,
        waitMs: 0,
      } as const;
      while (this.available(channel)) await this.run(receive);
    }
    const figures = this.broker.figures();
    expect(figures).toMatchObject({ messages: 0, liveBytes: 0, subChannels: 0 });
    await this.broker.close();
  }
}
