import { BrokerError } from '../../core/errors.js';
import type { Position } from '../../core/ports/journal.js';
import type { Batch } from './batch.js';
import type { CommitterParts } from './committer-parts.js';
import { readGroup, stampGroup } from './group.js';
import { IN_FLIGHT_MAX } from './log-reader.js';
import { renewMark } from './marks.js';
import { PublishError, type StoredMessage } from './stream.js';

/** Pause before something is asked again that got no answer. */
const RETRY_MS = 100;
/** Longest that a commit may be overdue before new messages are refused. */
const OVERDUE_MS = 2_000;
/** How often what is in front of a message is looked for before the message is stored, to see it then. */
const LOOKS_BEFORE = 3;

/**
 * Publishes batches, several ahead, each expecting the sequence in front of its own; finds out what became of those without an
 * answer; and reports in order. docs/adr/0011 says why nothing here can confirm a batch that a later reader does not find.
 */
export class Committer {
  readonly #p: CommitterParts;
  #epoch: number;
  /** Newest message known to be stored; those of this writer up to it are reported. */
  #storedSeq: number;
  /** Expected of the next message. */
  #nextSeq: number;
  /** Where the first one under way was stored, with messages in front of it that no server has shown yet. */
  #unshownSeq = 0;
  #inFlight: Batch[] = [];
  #settling = false;
  #state: 'running' | 'stalled' | 'deposed' | 'closed' = 'running';
  #committed: Position;
  readonly stats = { groups: 0, syncs: 0, commitMsMax: 0, commitMsTotal: 0 };

  constructor(parts: CommitterParts) {
    this.#p = parts;
    this.#epoch = parts.epoch;
    this.#storedSeq = parts.epoch;
    this.#nextSeq = parts.epoch + 1;
    this.#committed = parts.logEnd;
  }

  get epoch(): number {
    return this.#epoch;
  }

  get committed(): Position {
    return this.#committed;
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  get room(): boolean {
    return this.#state === 'running' && !this.#settling && this.#inFlight.length < IN_FLIGHT_MAX;
  }

  get deposed(): boolean {
    return this.#state === 'deposed';
  }

  get overdue(): boolean {
    const oldest = this.#inFlight[0];
    return oldest !== undefined && this.#p.monotonicMs() - oldest.sentAt > OVERDUE_MS;
  }

  /** Publishes the next batch of the log. */
  send(batch: Batch): void {
    batch.sentAt = this.#p.monotonicMs();
    this.#inFlight.push(batch);
    this.#publish(batch, this.#nextSeq);
    this.#nextSeq += 1;
  }

  close(): void {
    if (this.#state !== 'deposed') this.#state = 'closed';
  }

  #publish(batch: Batch, seq: number): void {
    this.#attempt(batch, seq).then(
      () => this.#look(),
      (error: unknown) => this.#p.log.error('a commit ended in an error of the program', { error }),
    );
  }

  async #attempt(batch: Batch, seq: number): Promise<void> {
    const { stream, names, extentBytes, claim } = this.#p;
    batch.seq = seq;
    batch.state = 'sent';
    const message = batch.seal();
    stampGroup(message, {
      kind: batch.kind,
      extentBytes,
      epoch: this.#epoch,
      start: batch.start,
      prev: batch.prev,
      claim,
    });
    try {
      batch.seq = await stream.publish(names.extent(batch.subject), message, { lastSeq: seq - 1 });
      batch.state = 'stored';
    } catch (error) {
      batch.state = error instanceof PublishError ? error.fault : 'unknown';
    }
  }

  /** Something was answered. */
  #look(): void {
    if (this.#settling || this.#state !== 'running') return;
    this.#reportStored();
    if (this.#inFlight.every((batch) => batch.state === 'stored' || batch.state === 'sent')) return;
    // What is behind a refused one is refused too; once all have their answer, the stream says what it has.
    if (this.#inFlight.some((batch) => batch.state === 'sent')) return;
    this.#settling = true;
    this.#settle().then(
      () => {
        this.#settling = false;
        if (this.#state === 'running') this.#p.committed(this.#committed);
      },
      (error: unknown) => this.#p.log.error('settling commits ended in an error of the program', { error }),
    );
  }

  #reportStored(): void {
    let first = this.#inFlight[0];
    if (first?.state !== 'stored') return;
    const before = this.#committed;
    while (first?.state === 'stored') {
      this.#inFlight.shift();
      this.#report(first);
      first = this.#inFlight[0];
    }
    if (this.#committed > before) this.#p.committed(this.#committed);
    else this.#p.roomCame();
  }

  #report(batch: Batch): void {
    const tookMs = this.#p.monotonicMs() - batch.sentAt;
    this.stats.groups += 1;
    this.stats.syncs += 1;
    this.stats.commitMsTotal += tookMs;
    this.stats.commitMsMax = Math.max(this.stats.commitMsMax, tookMs);
    this.#storedSeq = batch.seq;
    this.#p.stored(batch);
    if (batch.whole) this.#committed = batch.end;
  }

  /**
   * Brings what is under way into the stream, one after the other, or gives it up. A message may only be published again where it was
   * expected before, or behind something that makes its earlier copies void.
   */
  async #settle(): Promise<void> {
    const patience = { isOver: false };
    const timer = this.#p.clock.after(this.#p.giveUpMs, () => (patience.isOver = true));
    try {
      await this.#settleWhile(patience);
    } finally {
      timer.cancel();
    }
  }

  async #settleWhile(patience: { readonly isOver: boolean }): Promise<void> {
    // A refusal for want of space is final only when no earlier copy is unanswered.
    let mayBeThere = this.#inFlight.some((batch) => batch.state === 'unknown');
    let looks = 0;
    for (;;) {
      const first = this.#inFlight[0];
      if (first === undefined) {
        this.#nextSeq = this.#storedSeq + 1;
        return;
      }
      if (first.state === 'full' && !mayBeThere) {
        this.#giveUp(new BrokerError('unavailable', 'the stream of the journal is full'));
        return;
      }
      const lastSeq = await this.#catchUp();
      if (this.#gone()) return;
      if (this.#inFlight[0] !== first) continue;
      looks = lastSeq > this.#storedSeq ? looks + 1 : 0;
      if (looks === 0 || (looks > LOOKS_BEFORE && this.#unshownSeq <= this.#storedSeq)) {
        if (await this.#publishAgain(first, lastSeq)) continue;
        if (this.#gone()) return;
        if (first.state === 'unknown') mayBeThere = true;
      }
      if (patience.isOver) {
        this.#giveUp(new BrokerError('unavailable', 'NATS does not answer'));
        return;
      }
      if (first.state !== 'full' || mayBeThere) await this.#pause();
    }
  }

  /**
   * Stores the first one under way behind `lastSeq`; true when it counts. With messages in front of it that nobody has shown it does not yet: there
   * may be the mark of another writer among them, or its own earlier copy. Whoever shows it shows them, too.
   */
  async #publishAgain(first: Batch, lastSeq: number): Promise<boolean> {
    await this.#attempt(first, lastSeq + 1);
    if (this.#gone() || (first.state as string) !== 'stored') return false;
    if (first.seq > this.#storedSeq + 1) {
      this.#unshownSeq = first.seq;
      first.state = 'unknown';
      return false;
    }
    this.#inFlight.shift();
    this.#report(first);
    this.#p.committed(this.#committed);
    return true;
  }

  /** Asked anew after every wait. */
  #gone(): boolean {
    return this.#state !== 'running' && this.#state !== 'stalled';
  }

  /** Looks at what the stream has behind what is known, as far as it is shown; how far the stream goes at least. */
  async #catchUp(): Promise<number> {
    const { stream, names } = this.#p;
    const last = await this.#asked(() => stream.lastSeq());
    const lastSeq = Math.max(last?.answer ?? 0, this.#unshownSeq);
    while (this.#storedSeq < lastSeq) {
      // By one answer: that there is nothing in front of a message only whoever shows that message knows.
      const message = (await this.#asked(() => stream.next(this.#storedSeq + 1)))?.answer;
      if (message === undefined || this.#gone()) break;
      if (message.subject === names.mark) {
        this.#depose(`message ${message.seq} of the stream is the mark of another writer`);
        break;
      }
      this.#storedSeq = message.seq;
      this.#find(message);
    }
    return Math.max(lastSeq, this.#storedSeq);
  }

  /** The first one under way is stored when this message is it. */
  #find({ seq, payload }: StoredMessage): void {
    const header = readGroup(payload);
    const first = this.#inFlight[0];
    if (first === undefined || header?.epoch !== this.#epoch) return;
    if (header.start !== first.start || header.prev !== first.prev) return;
    first.seq = seq;
    first.state = 'stored';
    this.#inFlight.shift();
    this.#report(first);
  }

  /** Undefined, a pause later, when the stream does not answer. What the answer leads to is not to be caught with it. */
  async #asked<T>(ask: () => Promise<T>): Promise<{ readonly answer: T } | undefined> {
    try {
      return { answer: await ask() };
    } catch {
      await this.#pause();
      return undefined;
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#p.clock.after(RETRY_MS, resolve));
  }

  #depose(reason: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'deposed';
    this.#inFlight = [];
    try {
      // What was found in front of the other's mark is in the log: nobody else tells those who wait for it.
      this.#p.committed(this.#committed);
    } finally {
      // Whatever comes of that, this node has to stop.
      this.#p.deposed(reason);
      this.#p.failed(new BrokerError('unavailable', 'this node does not own the journal any more'));
    }
  }

  /** What is under way is not part of the log: a new mark says where the log ends, whatever may yet be stored. */
  #giveUp(error: BrokerError): void {
    this.#state = 'stalled';
    this.#inFlight = [];
    this.#p.committed(this.#committed);
    this.#p.failed(error);
    this.#markAgain().then(
      () => undefined,
      (caught: unknown) => this.#p.log.error('a mark ended in an error of the program', { error: caught }),
    );
  }

  async #markAgain(): Promise<void> {
    const { stream, names, extentBytes, claim } = this.#p;
    while (!this.#gone()) {
      await this.#pause();
      if (this.#gone()) return;
      const mark = { extentBytes, claim, prev: this.#committed, before: this.#epoch };
      const renewed = await renewMark(stream, names, mark);
      if (renewed === undefined || this.#gone()) continue;
      if (!renewed.isOwn) {
        this.#depose(`message ${renewed.seq} of the stream is the mark of another writer`);
        return;
      }
      this.#epoch = renewed.seq;
      this.#storedSeq = renewed.seq;
      this.#nextSeq = renewed.seq + 1;
      this.#state = 'running';
      this.#settling = false;
      this.#p.resumed();
      return;
    }
  }
}
