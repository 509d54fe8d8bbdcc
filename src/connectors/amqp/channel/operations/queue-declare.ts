import type { AmqpConfig } from '../../config.js';
import { Equivalence } from '../../mapping/equivalence.js';
import { checkQueueArguments, COMPARED_QUEUE_ARGUMENTS } from '../../mapping/queue-arguments.js';
import { checkQueueType, checkServerNamed, saysClassic, withDefaultType } from '../../mapping/queue-type.js';
import type { Queue, QueueDefinition, QueueType } from '../../topology/types.js';
import type { FieldValue } from '../../wire/field-table.js';
import type { MethodArgs } from '../../wire/methods.js';
import { ReplyError } from '../../wire/reply.js';
import type { AmqpChannel } from '../amqp-channel.js';
import { isReplyName } from '../direct-replies.js';
import {
  cleanName,
  locked,
  queueName,
  readyCount,
  requireAnyQueue,
  requirePermission,
  requireSight,
  usableQueue,
} from './access.js';
import { checkReplyName } from './reply-consumer.js';

type Args = MethodArgs<'queue.declare'>;

const COMPARED_WITHOUT_TYPE = COMPARED_QUEUE_ARGUMENTS.filter((name) => name !== 'x-queue-type');

/** queue.declare: makes a queue, or checks that the one that is there is the same; `passive` only looks. */
export async function queueDeclare(channel: AmqpChannel, args: Args): Promise<void> {
  if (isReplyName(args.queue)) {
    declareReplyName(channel, args);
    return;
  }
  const queue = args.passive ? look(channel, args) : await declare(channel, args);
  channel.lastQueue = queue.name;
  channel.host.topology.touch(queue);
  if (args.nowait) return;
  channel.host.writer.method(channel.number, 'queue.declare-ok', {
    queue: queue.name,
    messageCount: readyCount(channel.host.broker, queue),
    consumerCount: queue.consumers,
  });
}

function look(channel: AmqpChannel, args: Args): Queue {
  const name = queueName(channel, cleanName(args.queue));
  requireSight(channel.host, 'queue', name);
  return usableQueue(channel, name);
}

/** Nothing is made: clients ask like this whether direct reply-to is there, and whether a requester still is. */
function declareReplyName(channel: AmqpChannel, { queue, nowait }: Args): void {
  checkReplyName(channel, queue);
  channel.lastQueue = queue;
  if (nowait) return;
  channel.host.writer.method(channel.number, 'queue.declare-ok', {
    queue,
    messageCount: 0,
    consumerCount: 1,
  });
}

async function declare(channel: AmqpChannel, asked: Args): Promise<Queue> {
  const { host } = channel;
  const { vhost, topology } = host;
  const byDefault = vhost.defaultQueueType ?? typeOfSetting(host.config);
  const args: Args = { ...asked, arguments: withDefaultType(asked.arguments, byDefault, asked) };
  const name = args.queue === '' ? serverNamed(channel) : cleanName(args.queue);
  requireDeclaration(channel, name, args);
  const known = vhost.queues.get(name);
  if (known !== undefined) {
    checkEquivalent(channel, known, args);
    return known;
  }
  if (name.startsWith('amq.') && args.queue !== '') {
    throw new ReplyError(403, `queue name '${name}' contains reserved prefix 'amq.*'`);
  }
  const queue = await topology.createQueue(vhost, name, (queues) => {
    host.limits.requireQueue(vhost.name, queues, name);
    return definitionOf(channel, name, args);
  });
  if (queue.owner === host.connectionId) host.exclusiveQueues.add(queue);
  // Another connection may have been first.
  checkEquivalent(channel, queue, args);
  return queue;
}

/** What a queue of that name would be; 406 when it cannot be that. */
function definitionOf({ host }: AmqpChannel, name: string, args: Args): QueueDefinition {
  const context = { vhost: host.vhost.name, queue: name };
  const channel = host.topology.channelOf(host.vhost, name);
  checkQueueArguments(args.arguments, context);
  if (args.queue === '') checkServerNamed(args.arguments);
  checkQueueType(args.arguments, context, args);
  return {
    name,
    channel,
    durable: args.durable,
    owner: args.exclusive ? host.connectionId : undefined,
    autoDelete: args.autoDelete,
    arguments: args.arguments,
  };
}

/** The classic type needs no saying where nobody asked for another. */
function typeOfSetting({ defaultQueueType }: AmqpConfig): QueueType | undefined {
  return defaultQueueType === 'classic' ? undefined : defaultQueueType;
}

/** Dead letters go from the queue to an exchange: who may not read the one or write to the other cannot ask for that. */
function requireDeclaration({ host }: AmqpChannel, name: string, args: Args): void {
  requirePermission(host, 'configure', 'queue', name);
  const exchange = textOf(args.arguments.get('x-dead-letter-exchange'));
  if (exchange === undefined) return;
  requirePermission(host, 'read', 'queue', name);
  requirePermission(host, 'write', 'exchange', exchange);
  if (exchange !== '' || !host.access.asksAlways) return;
  // Through the default exchange letters go to a queue that their key names. Without a key of the queue's own it is theirs: any queue.
  const key = textOf(args.arguments.get('x-dead-letter-routing-key'));
  if (key === undefined) requireAnyQueue(host);
  else requirePermission(host, 'write', 'queue', key);
}

function textOf(field: FieldValue | undefined): string | undefined {
  return field?.tag === 'S' ? Buffer.from(field.value).toString('utf8') : undefined;
}

function serverNamed(channel: AmqpChannel): string {
  return `amq.gen-${Buffer.from(channel.host.ids.bytes(16)).toString('base64url')}`;
}

/** Order of the checks as RabbitMQ's: owner, durable, auto-delete, arguments. */
function checkEquivalent(channel: AmqpChannel, queue: Queue, args: Args): void {
  const owner = args.exclusive ? channel.host.connectionId : undefined;
  if (queue.owner !== owner) throw locked(channel, queue.name);
  if (queue.name.startsWith('amq.') && args.queue !== '') {
    throw new ReplyError(403, `queue name '${queue.name}' contains reserved prefix 'amq.*'`);
  }
  const same = new Equivalence(`queue '${queue.name}' in vhost '${channel.host.vhost.name}'`);
  // An exclusive queue lives as long as its connection, whatever it was declared as.
  if (queue.owner === undefined) same.same('durable', args.durable, queue.durable);
  same.same('auto_delete', args.autoDelete, queue.autoDelete);
  // Classic and no type at all are the same.
  const bothClassic = saysClassic(args.arguments) && saysClassic(queue.arguments);
  const compared = bothClassic ? COMPARED_WITHOUT_TYPE : COMPARED_QUEUE_ARGUMENTS;
  same.sameArguments(compared, args.arguments, queue.arguments);
}
