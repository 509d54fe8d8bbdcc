import { optionalText, listOf, structureOf } from './input.js';
import type { Input } from './input.js';
import { missingParameter } from './errors.js';
import { AwsFault } from './wire/fault.js';
import type { FaultKind } from './wire/fault.js';

export const BATCH_ENTRIES_MAX = 10;
const ENTRY_ID = /^[A-Za-z0-9_-]{1,80}$/;

/** One entry of a batch request. */
export interface BatchEntry {
  readonly id: string;
  readonly input: Input;
}

/** One entry that failed. */
export interface FailedEntry {
  readonly Id: string;
  readonly SenderFault: boolean;
  readonly Code: string;
  readonly Message: string;
}

/** The faults of one service for a batch as a whole. */
export interface BatchFaults {
  readonly emptyBatchRequest: FaultKind;
  readonly tooManyEntriesInBatchRequest: FaultKind;
  readonly invalidBatchEntryId: FaultKind;
  readonly batchEntryIdsNotDistinct: FaultKind;
}

/** Reads and checks the entries of a batch: 1 to 10, with legal and distinct ids. `shape`: what an entry is called. */
export function readBatch(
  input: Input,
  { name, shape, faults }: { readonly name: string; readonly shape: string; readonly faults: BatchFaults },
): readonly BatchEntry[] {
  const list = listOf(input, name);
  if (list.length === 0) {
    throw new AwsFault(faults.emptyBatchRequest, `There should be at least one ${shape} in the request.`);
  }
  if (list.length > BATCH_ENTRIES_MAX) {
    throw new AwsFault(
      faults.tooManyEntriesInBatchRequest,
      `Maximum number of entries per request are ${BATCH_ENTRIES_MAX}. You have sent ${list.length}.`,
    );
  }
  const seen = new Set<string>();
  return list.map((raw) => {
    const entry = structureOf(raw, name);
    const id = optionalText(entry, 'Id');
    if (id === undefined) throw missingParameter('Id');
    if (!ENTRY_ID.test(id)) {
      throw new AwsFault(
        faults.invalidBatchEntryId,
        'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
      );
    }
    if (seen.has(id)) throw new AwsFault(faults.batchEntryIdsNotDistinct, `Id ${id} repeated.`);
    seen.add(id);
    return { id, input: entry };
  });
}

export function failedEntry(id: string, fault: AwsFault): FailedEntry {
  return { Id: id, SenderFault: fault.senderFault, Code: fault.kind.code, Message: fault.message };
}

/** What a batch of SQS answers. */
export interface BatchResult<S> {
  readonly Successful?: readonly S[];
  readonly Failed?: readonly FailedEntry[];
}

/** `Successful` and `Failed` as SQS gives them: absent when empty. */
export function batchResult<S>(successful: readonly S[], failed: readonly FailedEntry[]): BatchResult<S> {
  return {
    ...(successful.length > 0 && { Successful: successful }),
    ...(failed.length > 0 && { Failed: failed }),
  };
}

/** A batch's answer as JSON; `fieldsOf`: what an entry has beside its id, with a comma before each field. */
export function batchJson<S extends { readonly Id: string }>(
  { Successful: successful, Failed: failed }: BatchResult<S>,
  fieldsOf: (entry: S) => string,
): string {
  let out = '';
  if (successful !== undefined) {
    out = '"Successful":[';
    for (let i = 0; i < successful.length; i++) {
      const entry = successful[i] as S;
      // Ids of a batch are letters, digits, hyphens and underscores.
      out += `${i === 0 ? '' : ','}{"Id":"${entry.Id}"${fieldsOf(entry)}}`;
    }
    out += ']';
  }
  if (failed !== undefined) out += `${out === '' ? '' : ','}"Failed":${JSON.stringify(failed)}`;
  return `{${out}}`;
}
