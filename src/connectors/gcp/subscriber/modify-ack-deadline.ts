import { create } from '@bufbuild/protobuf';
import { EmptySchema, type Empty } from '@bufbuild/protobuf/wkt';
import type { GcpServices } from '../services.js';
import type { Operation } from '../unary.js';
import type { ModifyAckDeadlineRequestView } from '../wire/acknowledge.js';
import { modifyAckDeadlines, requireAckIds } from './settle.js';

export function modifyAckDeadline(services: GcpServices): Operation<ModifyAckDeadlineRequestView, Empty> {
  return async ({ subscription, ackIds, ackDeadlineSeconds }) => {
    const live = services.subscriptions.require(subscription);
    requireAckIds(ackIds);
    await modifyAckDeadlines(services, live, { ackIds, seconds: ackDeadlineSeconds });
    return create(EmptySchema);
  };
}
