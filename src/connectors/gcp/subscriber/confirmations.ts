import { create, toBinary } from '@bufbuild/protobuf';
import { ackIdText, type AckIdList } from '../wire/acknowledge.js';
import { StreamingPullResponseSchema } from '../wire/gen/google/pubsub/v1/pubsub_pb.js';
import type { SettleOutcome } from './settle.js';

/** The fields of a StreamingPullResponse that say what became of acknowledgements. */
export function acknowledgeConfirmation(ackIds: AckIdList, outcome: SettleOutcome): Uint8Array {
  const acknowledgeConfirmation = named(ackIds, outcome);
  return toBinary(
    StreamingPullResponseSchema,
    create(StreamingPullResponseSchema, { acknowledgeConfirmation }),
  );
}

/** The fields of a StreamingPullResponse that say what became of new deadlines. */
export function modifyConfirmation(ackIds: AckIdList, outcome: SettleOutcome): Uint8Array {
  const modifyAckDeadlineConfirmation = named(ackIds, outcome);
  return toBinary(
    StreamingPullResponseSchema,
    create(StreamingPullResponseSchema, { modifyAckDeadlineConfirmation }),
  );
}

function named(
  list: AckIdList,
  { settled, invalid }: SettleOutcome,
): { readonly ackIds: string[]; readonly invalidAckIds: string[] } {
  const text = (i: number): string => ackIdText(list, i);
  return { ackIds: settled.map(text), invalidAckIds: invalid.map(text) };
}
