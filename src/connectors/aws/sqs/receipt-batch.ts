import { batchResult, failedEntry, readBatch } from '../batch.js';
import type { BatchResult, FailedEntry } from '../batch.js';
import { faultOf, SQS_FAULTS } from '../errors.js';
import type { Input } from '../input.js';
import type { Call } from '../operation.js';
import type { AwsFault } from '../wire/fault.js';

/** Reads an entry and acts on all that could be read; a bad entry fails alone. `act` gives each one's fault at its place. */
export async function runReceiptBatch<T>(
  call: Call,
  work: {
    /** What an entry is called. */
    readonly shape: string;
    readonly read: (input: Input) => T;
    readonly act: (items: readonly T[]) => Promise<readonly (AwsFault | undefined)[]>;
  },
): Promise<BatchResult<{ readonly Id: string }>> {
  const entries = readBatch(call.input, { name: 'Entries', shape: work.shape, faults: SQS_FAULTS });
  const failed: FailedEntry[] = [];
  const ids: string[] = [];
  const items: T[] = [];
  for (const { id, input } of entries) {
    try {
      items.push(work.read(input));
      ids.push(id);
    } catch (error) {
      failed.push(failedEntry(id, faultOf('sqs', error)));
    }
  }
  const faults = items.length === 0 ? [] : await work.act(items);
  const successful: { readonly Id: string }[] = [];
  for (const [i, id] of ids.entries()) {
    const fault = faults[i];
    if (fault === undefined) successful.push({ Id: id });
    else failed.push(failedEntry(id, fault));
  }
  return batchResult(successful, failed);
}
