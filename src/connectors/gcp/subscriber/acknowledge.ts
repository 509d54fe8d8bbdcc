import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { AcknowledgeRequestView } from '../wire/acknowledge.js';
import { ackFailure, acknowledgeIds, namedMax, requireAckIds } from './settle.js';

export function acknowledge(services: GcpServices): Operation<AcknowledgeRequestView, Empty> {
  return async ({ subscription, ackIds }) => {
    const live = services.subscriptions.require(subscription);
    requireAckIds(ackIds);
    const outcome = await acknowledgeIds(services, live, { ackIds, room: namedMax(ackIds) });
    if (outcome.invalid.length > 0) throw ackFailure(ackIds, outcome);
    return create(EmptySchema);
  };
}
