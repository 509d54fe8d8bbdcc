import type { Queue } from '../topology/types.js';
import type { Method, MethodArgs, MethodName } from '../wire/methods.js';
import type { AmqpChannel } from './amqp-channel.js';
import { accessRequest } from './operations/access-request.js';
import {
  basicAck,
  basicNack,
  basicRecover,
  basicRecoverAsync,
  basicReject,
} from './operations/basic-acknowledge.js';
import { basicCancel } from './operations/basic-cancel.js';
import { basicConsume } from './operations/basic-consume.js';
import { basicGet } from './operations/basic-get.js';
import { basicQos } from './operations/basic-qos.js';
import { channelFlow } from './operations/channel-flow.js';
import { confirmSelect } from './operations/confirm-select.js';
import { exchangeBind, exchangeUnbind } from './operations/exchange-bind.js';
import { exchangeDeclare } from './operations/exchange-declare.js';
import { exchangeDelete } from './operations/exchange-delete.js';
import { queueBind, queueUnbind } from './operations/queue-bind.js';
import { queueDeclare } from './operations/queue-declare.js';
import { queueDelete } from './operations/queue-delete.js';
import { queuePurge } from './operations/queue-purge.js';
import { txCommit } from './operations/tx-commit.js';
import { txRollback } from './operations/tx-rollback.js';
import { txSelect } from './operations/tx-select.js';
import { cleanName } from './operations/access.js';

/** How a method on an open channel is carried out. A promise: later commands of the channel wait for it. */
export interface Operation<N extends MethodName> {
  readonly run: (channel: AmqpChannel, args: MethodArgs<N>) => void | Promise<void>;
  /** It looks at queues, so every publish before it on the channel must have its outcome, and every settlement be known. */
  readonly inOrder: boolean | ((channel: AmqpChannel, args: MethodArgs<N>) => boolean);
  /** Its answer says what is in the queue it names. */
  readonly looksInto?: boolean;
}

type Operations = { readonly [N in MethodName]?: Operation<N> };

const inOrder = true;
const looksInto = true;

/** What clients may call on an open channel, besides publishing and closing. */
export const OPERATIONS: Operations = {
  'access.request': { run: accessRequest, inOrder: false },
  'channel.flow': { run: channelFlow, inOrder: false },
  'exchange.declare': { run: exchangeDeclare, inOrder },
  'exchange.delete': { run: exchangeDelete, inOrder },
  'exchange.bind': { run: exchangeBind, inOrder },
  'exchange.unbind': { run: exchangeUnbind, inOrder },
  'queue.declare': { run: queueDeclare, inOrder, looksInto },
  'queue.bind': { run: queueBind, inOrder },
  'queue.unbind': { run: queueUnbind, inOrder },
  'queue.purge': { run: queuePurge, inOrder, looksInto },
  'queue.delete': { run: queueDelete, inOrder, looksInto },
  'basic.qos': { run: basicQos, inOrder: false },
  // Where a stream ends says where its reader begins.
  'basic.consume': { run: basicConsume, inOrder: namesStream, looksInto },
  'basic.cancel': { run: basicCancel, inOrder: false },
  'basic.get': { run: basicGet, inOrder, looksInto },
  'basic.ack': { run: basicAck, inOrder: false },
  'basic.nack': { run: basicNack, inOrder: false },
  'basic.reject': { run: basicReject, inOrder: false },
  'basic.recover': { run: basicRecover, inOrder: false },
  'basic.recover-async': { run: basicRecoverAsync, inOrder: false },
  'confirm.select': { run: confirmSelect, inOrder: false },
  'tx.select': { run: txSelect, inOrder: false },
  'tx.commit': { run: txCommit, inOrder },
  'tx.rollback': { run: txRollback, inOrder: false },
};

/** The operation of a method, with its arguments still to be given; undefined when a client may not send it. */
export function operationOf(method: Method): Operation<MethodName> | undefined {
  // The table pairs every name with an operation on that name's arguments, and `method` does so too.
  return OPERATIONS[method.name];
}

/** Whether an operation has to wait for what came before it on its channel. */
export function isInOrder(
  { inOrder: when }: Operation<MethodName>,
  channel: AmqpChannel,
  method: Method,
): boolean {
  return typeof when === 'boolean' ? when : when(channel, method.args as never);
}

/**
 * Carries out an operation behind the dead letters it may find in its queue: what was rejected, expired or was too much before is
 * there, as in RabbitMQ.
 */
export function runBehindLetters(
  operation: Operation<MethodName>,
  channel: AmqpChannel,
  method: Method,
): Promise<void> | undefined {
  const run = (): void | Promise<void> => operation.run(channel, method.args as never);
  const letters = operation.looksInto === true ? lettersInto(channel, method.args) : undefined;
  if (letters === undefined) return run() ?? undefined;
  return letters.then(() => (channel.closed ? undefined : run()));
}

function lettersInto(channel: AmqpChannel, args: Method['args']): Promise<void> | undefined {
  const queue = namedQueue(channel, args);
  return queue === undefined ? undefined : channel.host.broker.lettersInto(queue.channel);
}

/** The queue that a method names, when there is one. */
function namedQueue(channel: AmqpChannel, args: Method['args']): Queue | undefined {
  const name = 'queue' in args ? cleanName(args.queue) : '';
  return channel.host.vhost.queues.get(name === '' ? channel.lastQueue : name);
}

function namesStream(channel: AmqpChannel, args: MethodArgs<'basic.consume'>): boolean {
  return namedQueue(channel, args)?.type === 'stream';
}
