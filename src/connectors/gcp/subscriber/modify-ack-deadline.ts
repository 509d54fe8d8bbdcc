import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { ModifyAckDeadlineRequestView } from '../wire/acknowledge.js';
import { ackFailure, modifyAckDeadlines, namedMax, requireAckIds } from './settle.js';

export function modifyAckDeadline(services: GcpServices): Operation<ModifyAckDeadlineRequestView, Empty> {
  return async ({ subscription, ackIds, ackDeadlineSeconds: seconds }) => {
    const live = services.subscriptions.require(subscription);
    requireAckIds(ackIds);
    const outcome = await modifyAckDeadlines(services, live, { ackIds, seconds, room: namedMax(ackIds) });
    if (outcome.invalid.length > 0) throw ackFailure(ackIds, outcome);
    return create(EmptySchema);
  };
}
