import type { Pipeline } from '../partition/pipeline.js';
import type { GiveBack } from '../partition/records.js';
import { RecordType, writeGiveBack, writeSequences } from '../partition/records.js';
import type { Family } from './family.js';

/** Bytes one sequence takes in a record at most, to size the side entry. */
const SEQUENCE_BYTES = 20;
const RECORD_BYTES = 48;

/**
 * Journals what happened to messages that are already in their queue. Records name the family (its base's id): sequences are
 * unique within it. Families that live in memory only leave no trace.
 */
export class Effects {
  readonly #pipeline: Pipeline;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
  }

  deliver(family: Family, at: number, leaseEndsAt: number, sequences: readonly number[]): void {
    if (!family.settings.durable || sequences.length === 0) return;
    const w = this.#pipeline.side(RECORD_BYTES + sequences.length * SEQUENCE_BYTES);
    w.u8(RecordType.deliver);
    w.u32(family.base.id);
    w.u64(at);
    w.u64(leaseEndsAt);
    writeSequences(w, sequences);
  }

  remove(family: Family, sequences: readonly number[]): void {
    if (!family.settings.durable || sequences.length === 0) return;
    const w = this.#pipeline.side(RECORD_BYTES + sequences.length * SEQUENCE_BYTES);
    w.u8(RecordType.remove);
    w.u32(family.base.id);
    writeSequences(w, sequences);
  }

  giveBack(family: Family, back: Omit<GiveBack, 'queue'>): void {
    if (!family.settings.durable || back.sequences.length === 0) return;
    const w = this.#pipeline.side(RECORD_BYTES + back.sequences.length * SEQUENCE_BYTES);
    writeGiveBack(w, { ...back, queue: family.base.id });
  }

  extend(family: Family, leaseEndsAt: number, sequences: readonly number[]): void {
    if (!family.settings.durable || sequences.length === 0) return;
    const w = this.#pipeline.side(RECORD_BYTES + sequences.length * SEQUENCE_BYTES);
    w.u8(RecordType.extend);
    w.u32(family.base.id);
    w.u64(leaseEndsAt);
    writeSequences(w, sequences);
  }

  purge(family: Family, scope: number, belowSequence: number, at: number): void {
    if (!family.settings.durable) return;
    const w = this.#pipeline.side(RECORD_BYTES);
    w.u8(RecordType.purge);
    w.u32(family.base.id);
    w.u8(scope);
    w.u64(belowSequence);
    w.u64(at);
  }
}
