import { IdTable } from '../../base/id-table.js';
import type { ChannelName } from '../channel-name.js';
import { Family, Queue } from './family.js';
import type { QueueSettings } from './types.js';

/** Names of deleted queues that are remembered; the oldest go first. */
const RETIRED_MAX = 10_000;

/** Which queues and sub-channels there are, by id and by name. What they hold is the store's. */
export class Directory {
  readonly byId = new IdTable<Queue>();
  readonly byName = new Map<string, Queue>();
  /** Queues, their sub-channels not counted. */
  families = 0;
  /** Sub-channel marks in use, with the number of families that have them. */
  readonly marks = new Map<string, number>();
  /** Ids of sub-channels that went, to be used again: there may be many in a day. */
  freeIds: number[] = [];
  /** Next sequences of queues that went: a token of theirs must not fit a later queue of the same name. */
  readonly #retired = new Map<string, number>();

  createQueue(id: number, name: ChannelName, settings: QueueSettings): Queue {
    const family = new Family(id, name, settings);
    family.nextSequence = this.#retired.get(name) ?? 1;
    this.#adopt(family.base);
    this.families++;
    this.#countMarks(settings.subChannelMarks, 1);
    return family.base;
  }

  createSubChannel(id: number, name: ChannelName, family: Family): Queue {
    const member = new Queue(id, name, family);
    this.#adopt(member);
    return member;
  }

  #adopt(queue: Queue): void {
    this.byId.set(queue.id, queue);
    this.byName.set(queue.name, queue);
    queue.family.members.add(queue);
  }

  setSettings(family: Family, settings: QueueSettings): void {
    this.#countMarks(family.settings.subChannelMarks, -1);
    family.settings = settings;
    this.#countMarks(settings.subChannelMarks, 1);
  }

  #countMarks(marks: readonly string[], by: number): void {
    for (const mark of marks) {
      const count = (this.marks.get(mark) ?? 0) + by;
      if (count > 0) this.marks.set(mark, count);
      else this.marks.delete(mark);
    }
  }

  /** The family `name` would be a sub-channel of, by the marks of existing queues. */
  familyOf(name: string): Family | undefined {
    for (const mark of this.marks.keys()) {
      const at = name.indexOf(mark);
      if (at <= 0) continue;
      const base = this.byName.get(name.slice(0, at));
      if (base?.family.settings.subChannelMarks.includes(mark) === true) return base.family;
    }
    return undefined;
  }

  /** A family that holds nothing any more goes. */
  forgetFamily(family: Family): void {
    if (!family.base.deleted) this.families--;
    for (const member of family.members) this.forget(member);
    this.#countMarks(family.settings.subChannelMarks, -1);
    this.#retire(family);
  }

  /** One member of a family goes. */
  forget(queue: Queue): void {
    queue.deleted = true;
    if (this.byId.get(queue.id) === queue) this.byId.delete(queue.id);
    // While a message of it is still on its way, its id must not mean another channel.
    if (queue.isSubChannel && queue.arriving + queue.picked === 0) this.freeIds.push(queue.id);
    if (this.byName.get(queue.name) === queue) this.byName.delete(queue.name);
    queue.family.members.delete(queue);
  }

  #retire(family: Family): void {
    const { name } = family.base;
    this.#retired.delete(name);
    if (family.nextSequence === 1) return;
    this.#retired.set(name, family.nextSequence);
    if (this.#retired.size <= RETIRED_MAX) return;
    for (const oldest of this.#retired.keys()) {
      this.#retired.delete(oldest);
      return;
    }
  }
}
