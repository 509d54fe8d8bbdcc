import type { CoreContext } from '../core-context.js';
import { PurgeBits } from '../partition/records.js';
import type { Family, Queue } from './family.js';
import type { SlotList } from './slot-list.js';
import type { PurgeResult } from './types.js';

/** What a purge takes: states by PurgeBits, sequences below `below`, one sub-channel or the whole family. */
export interface PurgeOrder {
  readonly scope: number;
  readonly below: number;
  readonly only: Queue | undefined;
}

/** The in-memory half of a purge record; replay uses it, too. */
export function applyPurge(
  core: Pick<CoreContext, 'queues'>,
  family: Family,
  order: PurgeOrder,
): PurgeResult {
  const { scope } = order;
  const members = order.only === undefined ? [...family.members] : [order.only];
  let ready = 0;
  let delayed = 0;
  let inFlight = 0;
  const take = (list: SlotList): number => removeListed(core, list, order);
  if ((scope & PurgeBits.ready) !== 0) {
    for (const member of members) for (const list of member.lists) ready += take(list);
  }
  if ((scope & PurgeBits.delayed) !== 0) delayed = take(family.delayed);
  if ((scope & PurgeBits.inFlight) !== 0) {
    for (const slot of [...family.inFlight.values()]) if (removeIf(core, slot, order)) inFlight++;
  }
  // A purge of everything forgets what it accepted before, so that the same ids may be sent again.
  if (order.only === undefined && scope === (PurgeBits.ready | PurgeBits.delayed | PurgeBits.inFlight))
    core.queues.dedupIds.clear(family);
  return { ready, delayed, inFlight };
}

function removeListed(core: Pick<CoreContext, 'queues'>, list: SlotList, order: PurgeOrder): number {
  let removed = 0;
  for (let slot = list.head; slot >= 0;) {
    const next = core.queues.table.next(slot);
    if (removeIf(core, slot, order)) removed++;
    slot = next;
  }
  return removed;
}

function removeIf(core: Pick<CoreContext, 'queues'>, slot: number, order: PurgeOrder): boolean {
  const { table, byId } = core.queues;
  const queue = byId.get(table.queue(slot));
  if (queue === undefined || table.sequence(slot) >= order.below) return false;
  if (order.only !== undefined && queue !== order.only) return false;
  core.queues.remove(queue, slot);
  return true;
}
