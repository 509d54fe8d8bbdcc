import type { ChannelName } from '../channel-name.js';
import type { CoreContext } from '../core-context.js';
import { EventLog } from '../log/event-log.js';
import type { LogService } from '../log/log-service.js';
import type { LogSettings } from '../log/types.js';
import { DEFAULT_LOG_SETTINGS } from '../log/types.js';
import { setExtras } from '../queue/arrival.js';
import type { Family, Queue } from '../queue/family.js';
import type { Stored } from '../queue/message-table.js';
import { applyTransfer } from '../queue/mover.js';
import { applyPurge } from '../queue/purge.js';
import type { QueueService } from '../queue/queue-service.js';
import { placeBack } from '../queue/settlements.js';
import type { QueueSettings } from '../queue/types.js';
import { DEFAULT_QUEUE_SETTINGS } from '../queue/types.js';
import type { RegistryStore } from '../registry/registry-store.js';
import { MessageView, mintedId } from '../message-codec.js';
import { StagedSlots } from './staged-slots.js';
import type { Arrival, GiveBack, LoggedEvent, OpenChannel, RecordVisitor } from './records.js';
import { ChannelKind } from './records.js';

interface Parts {
  readonly core: CoreContext;
  readonly queues: QueueService;
  readonly logs: LogService;
  readonly registry: RegistryStore;
}

/**
 * Applies the records of the journal to a state that is a checkpoint's, or empty. Records about what is no longer there are
 * passed over: an unforced record before them may have been lost with the machine.
 */
export class Recovery implements RecordVisitor {
  readonly #parts: Parts;
  /** Sequence to slot of families whose messages were looked for elsewhere than at the front. */
  readonly #found = new Map<Family, Map<number, number>>();
  /** Where the cleaner took bodies: old position to new. */
  readonly #moved = new Map<number, number>();

  readonly #staged: StagedSlots;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#staged = new StagedSlots(parts.core);
  }

  openChannel({ id, kind, name, baseId, settings }: OpenChannel): void {
    const { core, queues, logs } = this.#parts;
    queues.channels.ids.next = Math.max(queues.channels.ids.next, id + 1);
    const channel = name as ChannelName;
    if (kind === ChannelKind.log) {
      if (logs.byId.has(id)) return;
      logs.adopt(
        new EventLog(id, channel, { ...DEFAULT_LOG_SETTINGS, ...(JSON.parse(settings) as LogSettings) }),
      );
      return;
    }
    const before = core.queues.byId.get(id);
    if (baseId === 0) {
      if (before !== undefined) return;
      core.queues.createQueue(id, channel, {
        ...DEFAULT_QUEUE_SETTINGS,
        ...(JSON.parse(settings) as QueueSettings),
      });
      return;
    }
    const family = core.queues.byId.get(baseId)?.family;
    if (family === undefined) return;
    // A sub-channel's id is used again only after its former channel ran empty, as has a former channel of this name: if
    // anything is staged there, its rewind was given up.
    for (const former of [before, core.queues.byName.get(name)]) {
      if (former === undefined || core.queues.dropIfEmpty(former)) continue;
      this.#staged.dropIn(former);
      core.queues.dropIfEmpty(former);
    }
    core.queues.directory.createSubChannel(id, channel, family);
  }

  channelSettings(id: number, settings: string): void {
    const family = this.#parts.core.queues.byId.get(id)?.family;
    if (family !== undefined) {
      this.#parts.core.queues.updateSettings(family, {
        ...DEFAULT_QUEUE_SETTINGS,
        ...(JSON.parse(settings) as QueueSettings),
      });
    }
    const log = this.#parts.logs.byId.get(id);
    if (log !== undefined)
      log.settings = { ...DEFAULT_LOG_SETTINGS, ...(JSON.parse(settings) as LogSettings) };
  }

  deleteChannel(id: number): void {
    const family = this.#parts.core.queues.byId.get(id)?.family;
    if (family !== undefined) {
      this.#found.delete(family);
      this.#staged.drop(family);
      this.#parts.queues.drop(family);
    }
    const log = this.#parts.logs.byId.get(id);
    if (log !== undefined) this.#parts.logs.drop(log);
  }

  send(arrival: Arrival, position: number, stored: Stored, payload: Uint8Array | undefined): void {
    const { core } = this.#parts;
    const queue = core.queues.byId.get(arrival.queue);
    if (queue === undefined) return;
    const { family } = queue;
    family.nextSequence = Math.max(family.nextSequence, arrival.sequence + 1);
    const { sequence, enqueuedAt } = arrival;
    const slot = core.queues.allocate(queue, arrival, position, stored);
    if (payload === undefined) core.queues.live.share(position);
    setExtras(core, slot, arrival);
    core.queues.arrive(queue, slot);
    this.#found.get(family)?.set(sequence, slot);
    if (arrival.dedupId !== '') {
      const entry = {
        at: enqueuedAt,
        id:
          payload === undefined
            ? mintedId(family.base.id, sequence)
            : new MessageView(payload, core.translators).id,
        channel: queue.name,
        sequence,
        enqueuedAt,
        expiresAt: arrival.expiresAt,
        delayedTo: arrival.delayedTo,
      };
      core.queues.dedupIds.remember(family, arrival.dedupId, entry, core.limits.dedupIdsMax);
    }
  }

  stage(arrival: Arrival, position: number, stored: Stored): void {
    this.#staged.add(arrival, position, stored);
  }

  rewound(baseId: number, first: number): void {
    const family = this.#parts.core.queues.byId.get(baseId)?.family;
    if (family === undefined) return;
    this.#found.delete(family);
    this.#staged.letIn(family, first);
  }

  #slot(family: Family, sequence: number): number {
    const { queues } = this.#parts.core;
    const { table } = queues;
    const leased = family.inFlight.get(sequence);
    if (leased !== undefined) return leased;
    const front = family.base.front;
    if (front >= 0 && table.sequence(front) === sequence) return front;
    let index = this.#found.get(family);
    if (index === undefined) {
      index = indexOf(this.#parts.core, family);
      this.#found.set(family, index);
    }
    const slot = index.get(sequence);
    // The slot may have been freed and taken by another message since.
    if (slot === undefined || table.sequence(slot) !== sequence) return -1;
    return queues.byId.get(table.queue(slot))?.family === family ? slot : -1;
  }

  #each(
    baseId: number,
    sequences: readonly number[],
    run: (family: Family, queue: Queue, slot: number) => void,
  ): void {
    const { queues } = this.#parts.core;
    const family = queues.byId.get(baseId)?.family;
    if (family === undefined) return;
    for (const sequence of sequences) {
      const slot = this.#slot(family, sequence);
      const queue = slot < 0 ? undefined : queues.byId.get(queues.table.queue(slot));
      if (queue !== undefined) run(family, queue, slot);
    }
  }

  deliver(baseId: number, at: number, leaseEndsAt: number, sequences: readonly number[]): void {
    const { queues } = this.#parts.core;
    this.#each(baseId, sequences, (_family, queue, slot) => {
      queues.pick(queue, slot);
      queues.lease(queue, slot, at, leaseEndsAt);
    });
  }

  remove(baseId: number, sequences: readonly number[]): void {
    const { queues } = this.#parts.core;
    this.#each(baseId, sequences, (family, queue, slot) => {
      this.#found.get(family)?.delete(queues.table.sequence(slot));
      queues.remove(queue, slot);
    });
  }

  giveBack(back: GiveBack): void {
    const { core } = this.#parts;
    const family = core.queues.byId.get(back.queue)?.family;
    if (family === undefined) return;
    if (back.newSequence > 0) {
      family.nextSequence = Math.max(family.nextSequence, back.newSequence + back.sequences.length);
    }
    back.sequences.forEach((sequence, i) => {
      const slot = this.#slot(family, sequence);
      if (slot < 0) return;
      const newSequence = back.newSequence > 0 ? back.newSequence + i : 0;
      placeBack(core, [slot], {
        newSequence,
        delayedTo: back.delayedTo,
        uncounted: back.uncounted,
      });
      // Asked for here: looking for the slot may have made it.
      const index = this.#found.get(family);
      index?.delete(sequence);
      index?.set(core.queues.table.sequence(slot), slot);
    });
  }

  extend(baseId: number, leaseEndsAt: number, sequences: readonly number[]): void {
    const { queues } = this.#parts.core;
    this.#each(baseId, sequences, (family, _queue, slot) => {
      if (family.inFlight.has(queues.table.sequence(slot))) queues.extend(slot, leaseEndsAt);
    });
  }

  transfer(fromBase: number, sequence: number, arrival: Arrival): void {
    const { core } = this.#parts;
    const target = core.queues.byId.get(arrival.queue);
    this.#each(fromBase, [sequence], (family, queue, slot) => {
      this.#found.get(family)?.delete(sequence);
      if (target === undefined) {
        core.queues.remove(queue, slot);
        return;
      }
      target.family.nextSequence = Math.max(target.family.nextSequence, arrival.sequence + 1);
      core.queues.pick(queue, slot);
      applyTransfer(core, { queue, slot, target, arrival });
      core.queues.arrive(target, slot);
      this.#found.get(target.family)?.set(arrival.sequence, slot);
    });
  }

  purge(baseId: number, scope: number, belowSequence: number, at: number): void {
    const family = this.#parts.core.queues.byId.get(baseId)?.family;
    if (family === undefined) return;
    this.#found.delete(family);
    // The end of a delay leaves no record of its own.
    endDelays(this.#parts.core, family, at);
    applyPurge(this.#parts.core, family, { scope, below: belowSequence, only: undefined });
  }

  logAppend({ log: id, sequence, storedAt, position, length }: LoggedEvent): void {
    const log = this.#parts.logs.byId.get(id);
    if (log === undefined) return;
    if (log.index.size === 0) log.index.startAt(sequence);
    if (sequence !== log.index.end) return;
    log.index.push(position, length, storedAt);
    log.bytes += length;
    log.lastStoredAt = storedAt;
    log.committed = sequence;
    this.#parts.core.queues.live.add(position, length);
  }

  cursor(id: number, name: string, sequence: number): void {
    this.#parts.logs.byId.get(id)?.cursors.set(name, sequence);
  }

  logTrim(id: number, firstSequence: number): void {
    const log = this.#parts.logs.byId.get(id);
    if (log !== undefined) this.#parts.logs.trim(log, firstSequence);
  }

  registryPut(kind: string, key: string, version: number, value: string): void {
    this.#parts.registry.put({ kind, key, version, value: JSON.parse(value) }, value.length);
  }

  registryRemove(kind: string, key: string): void {
    this.#parts.registry.remove(kind, key);
  }

  aliasSet(alias: string, channel: string): void {
    this.#parts.queues.channels.aliases.set(alias, channel as ChannelName);
  }

  aliasRemove(alias: string): void {
    this.#parts.queues.channels.aliases.delete(alias);
  }

  relocate(from: number, position: number): void {
    this.#moved.set(from, position);
  }

  /** After the last record: bodies that were moved are found in their new places, empty sub-channels go. */
  finish(): void {
    const { core, logs } = this.#parts;
    if (this.#moved.size > 0) relocateBodies(core, logs, (position) => this.#placeOf(position));
    this.#staged.dropAll();
    for (const queue of core.queues.byId.values()) core.queues.dropIfEmpty(queue);
    // An id may have been freed and taken again on the way here.
    core.queues.directory.freeIds = [...new Set(core.queues.directory.freeIds)].filter(
      (id) => !core.queues.byId.has(id),
    );
    this.#found.clear();
  }

  #placeOf(position: number): number | undefined {
    let place = this.#moved.get(position);
    for (let next = place; next !== undefined; next = this.#moved.get(next)) place = next;
    return place;
  }
}

function endDelays(core: CoreContext, family: Family, at: number): void {
  const { queues } = core;
  const { table } = queues;
  for (let slot = family.delayed.head; slot >= 0;) {
    const next = table.next(slot);
    const queue = queues.byId.get(table.queue(slot));
    if (queue !== undefined && (queues.deadlines.of(slot) ?? Infinity) <= at) queues.endDelay(queue, slot);
    slot = next;
  }
}

function indexOf(core: CoreContext, family: Family): Map<number, number> {
  const { table } = core.queues;
  const index = new Map<number, number>();
  for (const member of family.members) {
    for (const list of member.lists) {
      for (let slot = list.head; slot >= 0; slot = table.next(slot)) index.set(table.sequence(slot), slot);
    }
  }
  for (let slot = family.delayed.head; slot >= 0; slot = table.next(slot))
    index.set(table.sequence(slot), slot);
  return index;
}

/** Points every message and event at the new place of its body, where `placeOf` knows one. */
function relocateBodies(
  core: Pick<CoreContext, 'queues'>,
  logs: LogService,
  placeOf: (position: number) => number | undefined,
): void {
  const { table, live } = core.queues;
  for (let slot = 0; slot < table.end; slot++) {
    if (table.state(slot) === 0) continue;
    const position = table.position(slot);
    const place = position < 0 ? undefined : placeOf(position);
    if (place === undefined) continue;
    const length = table.length(slot);
    table.chunk(slot).position[table.index(slot)] = place;
    live.remove(position, length);
    live.add(place, length);
  }
  for (const log of logs.byId.values()) {
    for (let s = log.index.first; s < log.index.end; s++) {
      const position = log.index.position(s);
      const place = placeOf(position);
      if (place === undefined) continue;
      const length = log.index.length(s);
      log.index.setPosition(s, place);
      live.remove(position, length);
      live.add(place, length);
    }
  }
}
