import type { Operation } from '../operation.js';
import { addPermission } from './add-permission-action.js';
import { cancelMessageMoveTask } from './cancel-message-move-task-action.js';
import { changeMessageVisibility } from './change-message-visibility-action.js';
import { changeMessageVisibilityBatch } from './change-message-visibility-batch-action.js';
import { createQueue } from './create-queue-action.js';
import { deleteMessage } from './delete-message-action.js';
import { deleteMessageBatch } from './delete-message-batch-action.js';
import { deleteQueue } from './delete-queue-action.js';
import { getQueueAttributes } from './get-queue-attributes-action.js';
import { getQueueUrl } from './get-queue-url-action.js';
import { listDeadLetterSourceQueues } from './list-dead-letter-source-queues-action.js';
import { listMessageMoveTasks } from './list-message-move-tasks-action.js';
import { listQueueTags } from './list-queue-tags-action.js';
import { listQueues } from './list-queues-action.js';
import { purgeQueue } from './purge-queue-action.js';
import { receiveMessage } from './receive-message-action.js';
import { removePermission } from './remove-permission-action.js';
import { sendMessage } from './send-message-action.js';
import { sendMessageBatch } from './send-message-batch-action.js';
import { setQueueAttributes } from './set-queue-attributes-action.js';
import { startMessageMoveTask } from './start-message-move-task-action.js';
import { tagQueue } from './tag-queue-action.js';
import { untagQueue } from './untag-queue-action.js';

/** Every operation of SQS that is served, by name. */
export const SQS_OPERATIONS: ReadonlyMap<string, Operation> = new Map(
  [
    addPermission,
    cancelMessageMoveTask,
    changeMessageVisibility,
    changeMessageVisibilityBatch,
    createQueue,
    deleteMessage,
    deleteMessageBatch,
    deleteQueue,
    getQueueAttributes,
    getQueueUrl,
    listDeadLetterSourceQueues,
    listMessageMoveTasks,
    listQueueTags,
    listQueues,
    purgeQueue,
    receiveMessage,
    removePermission,
    sendMessage,
    sendMessageBatch,
    setQueueAttributes,
    startMessageMoveTask,
    tagQueue,
    untagQueue,
  ].map((operation) => [operation.name, operation]),
);

/** Operations that are asked of the endpoint, not of a queue's own URL. */
export const NOT_ON_QUEUE_PATH: ReadonlySet<string> = new Set(['CreateQueue', 'ListQueues']);
