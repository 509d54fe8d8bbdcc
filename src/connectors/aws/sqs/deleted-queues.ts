import type { Change } from '../../../core/registry/types.js';
import { SQS_FAULTS } from '../errors.js';
import type { AwsServices } from '../operation.js';
import { AwsFault } from '../wire/fault.js';

/** Names whose queues are gone, under the name, for as long as they cannot be used again. */
export const DELETED_KIND = 'aws.deleted-queue';

interface DeletedQueue {
  /** Unix ms. */
  readonly deletedAt: number;
}

/** What goes with a queue's deletion so that its name rests; names that have rested long enough are forgotten. */
export function restName({ broker, config, clock }: AwsServices, name: string): readonly Change[] {
  if (config.recreateWaitSeconds === 0) return [];
  const now = clock.now();
  const old = broker.registry
    .list<DeletedQueue>(DELETED_KIND)
    .filter(({ key, value }) => key !== name && value.deletedAt + config.recreateWaitSeconds * 1000 <= now);
  return [
    ...old.map(({ key }) => ({ do: 'remove', kind: DELETED_KIND, key }) as const),
    { do: 'put', kind: DELETED_KIND, key: name, value: { deletedAt: now } satisfies DeletedQueue },
  ];
}

/** Throws QueueDeletedRecently while the name of a deleted queue rests. */
export function requireRested({ broker, config, clock }: AwsServices, name: string): void {
  const seconds = config.recreateWaitSeconds;
  if (seconds === 0) return;
  const deletedAt = broker.registry.get<DeletedQueue>(DELETED_KIND, name)?.value.deletedAt;
  if (deletedAt === undefined || deletedAt + seconds * 1000 <= clock.now()) return;
  throw new AwsFault(
    SQS_FAULTS.queueDeletedRecently,
    `You must wait ${seconds} seconds after deleting a queue before you can create another with the same name.`,
  );
}
