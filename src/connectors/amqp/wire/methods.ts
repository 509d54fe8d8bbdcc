import type { FieldTable } from './field-table.js';

/** How each field type looks in TypeScript. `longlong` is a number: exact up to 2^53. */
interface FieldTypes {
  bit: boolean;
  octet: number;
  short: number;
  long: number;
  longlong: number;
  shortstr: string;
  longstr: Uint8Array;
  table: FieldTable;
}

export type FieldType = keyof FieldTypes;
type Field = readonly [name: string, type: FieldType];

interface MethodShape {
  readonly classId: number;
  readonly methodId: number;
  readonly fields: readonly Field[];
}

/**
 * Every method of AMQP 0-9-1 with RabbitMQ's extensions: class and method id, then its fields in wire order
 * (amqp0-9-1.extended.xml). Types, reader and writer all follow from this table.
 */
export const METHODS = {
  'connection.start': m(10, 10, [
    ['versionMajor', 'octet'],
    ['versionMinor', 'octet'],
    ['serverProperties', 'table'],
    ['mechanisms', 'longstr'],
    ['locales', 'longstr'],
  ]),
  'connection.start-ok': m(10, 11, [
    ['clientProperties', 'table'],
    ['mechanism', 'shortstr'],
    ['response', 'longstr'],
    ['locale', 'shortstr'],
  ]),
  'connection.secure': m(10, 20, [['challenge', 'longstr']]),
  'connection.secure-ok': m(10, 21, [['response', 'longstr']]),
  'connection.tune': m(10, 30, [
    ['channelMax', 'short'],
    ['frameMax', 'long'],
    ['heartbeat', 'short'],
  ]),
  'connection.tune-ok': m(10, 31, [
    ['channelMax', 'short'],
    ['frameMax', 'long'],
    ['heartbeat', 'short'],
  ]),
  'connection.open': m(10, 40, [
    ['virtualHost', 'shortstr'],
    ['reserved1', 'shortstr'],
    ['reserved2', 'bit'],
  ]),
  'connection.open-ok': m(10, 41, [['reserved1', 'shortstr']]),
  'connection.close': m(10, 50, [
    ['replyCode', 'short'],
    ['replyText', 'shortstr'],
    ['failedClassId', 'short'],
    ['failedMethodId', 'short'],
  ]),
  'connection.close-ok': m(10, 51, []),
  'connection.blocked': m(10, 60, [['reason', 'shortstr']]),
  'connection.unblocked': m(10, 61, []),
  'connection.update-secret': m(10, 70, [
    ['newSecret', 'longstr'],
    ['reason', 'shortstr'],
  ]),
  'connection.update-secret-ok': m(10, 71, []),

  'channel.open': m(20, 10, [['reserved1', 'shortstr']]),
  'channel.open-ok': m(20, 11, [['reserved1', 'longstr']]),
  'channel.flow': m(20, 20, [['active', 'bit']]),
  'channel.flow-ok': m(20, 21, [['active', 'bit']]),
  'channel.close': m(20, 40, [
    ['replyCode', 'short'],
    ['replyText', 'shortstr'],
    ['failedClassId', 'short'],
    ['failedMethodId', 'short'],
  ]),
  'channel.close-ok': m(20, 41, []),

  'access.request': m(30, 10, [
    ['realm', 'shortstr'],
    ['exclusive', 'bit'],
    ['passive', 'bit'],
    ['active', 'bit'],
    ['write', 'bit'],
    ['read', 'bit'],
  ]),
  'access.request-ok': m(30, 11, [['ticket', 'short']]),

  'exchange.declare': m(40, 10, [
    ['ticket', 'short'],
    ['exchange', 'shortstr'],
    ['type', 'shortstr'],
    ['passive', 'bit'],
    ['durable', 'bit'],
    ['autoDelete', 'bit'],
    ['internal', 'bit'],
    ['nowait', 'bit'],
    ['arguments', 'table'],
  ]),
  'exchange.declare-ok': m(40, 11, []),
  'exchange.delete': m(40, 20, [
    ['ticket', 'short'],
    ['exchange', 'shortstr'],
    ['ifUnused', 'bit'],
    ['nowait', 'bit'],
  ]),
  'exchange.delete-ok': m(40, 21, []),
  'exchange.bind': m(40, 30, [
    ['ticket', 'short'],
    ['destination', 'shortstr'],
    ['source', 'shortstr'],
    ['routingKey', 'shortstr'],
    ['nowait', 'bit'],
    ['arguments', 'table'],
  ]),
  'exchange.bind-ok': m(40, 31, []),
  'exchange.unbind': m(40, 40, [
    ['ticket', 'short'],
    ['destination', 'shortstr'],
    ['source', 'shortstr'],
    ['routingKey', 'shortstr'],
    ['nowait', 'bit'],
    ['arguments', 'table'],
  ]),
  // 51, not 41: RabbitMQ's id, and what every client expects.
  'exchange.unbind-ok': m(40, 51, []),

  'queue.declare': m(50, 10, [
    ['ticket', 'short'],
    ['queue', 'shortstr'],
    ['passive', 'bit'],
    ['durable', 'bit'],
    ['exclusive', 'bit'],
    ['autoDelete', 'bit'],
    ['nowait', 'bit'],
    ['arguments', 'table'],
  ]),
  'queue.declare-ok': m(50, 11, [
    ['queue', 'shortstr'],
    ['messageCount', 'long'],
    ['consumerCount', 'long'],
  ]),
  'queue.bind': m(50, 20, [
    ['ticket', 'short'],
    ['queue', 'shortstr'],
    ['exchange', 'shortstr'],
    ['routingKey', 'shortstr'],
    ['nowait', 'bit'],
    ['arguments', 'table'],
  ]),
  'queue.bind-ok': m(50, 21, []),
  'queue.purge': m(50, 30, [
    ['ticket', 'short'],
    ['queue', 'shortstr'],
    ['nowait', 'bit'],
  ]),
  'queue.purge-ok': m(50, 31, [['messageCount', 'long']]),
  'queue.delete': m(50, 40, [
    ['ticket', 'short'],
    ['queue', 'shortstr'],
    ['ifUnused', 'bit'],
    ['ifEmpty', 'bit'],
    ['nowait', 'bit'],
  ]),
  'queue.delete-ok': m(50, 41, [['messageCount', 'long']]),
  'queue.unbind': m(50, 50, [
    ['ticket', 'short'],
    ['queue', 'shortstr'],
    ['exchange', 'shortstr'],
    ['routingKey', 'shortstr'],
    ['arguments', 'table'],
  ]),
  'queue.unbind-ok': m(50, 51, []),

  'basic.qos': m(60, 10, [
    ['prefetchSize', 'long'],
    ['prefetchCount', 'short'],
    ['global', 'bit'],
  ]),
  'basic.qos-ok': m(60, 11, []),
  'basic.consume': m(60, 20, [
    ['ticket', 'short'],
    ['queue', 'shortstr'],
    ['consumerTag', 'shortstr'],
    ['noLocal', 'bit'],
    ['noAck', 'bit'],
    ['exclusive', 'bit'],
    ['nowait', 'bit'],
    ['arguments', 'table'],
  ]),
  'basic.consume-ok': m(60, 21, [['consumerTag', 'shortstr']]),
  'basic.cancel': m(60, 30, [
    ['consumerTag', 'shortstr'],
    ['nowait', 'bit'],
  ]),
  'basic.cancel-ok': m(60, 31, [['consumerTag', 'shortstr']]),
  'basic.publish': m(60, 40, [
    ['ticket', 'short'],
    ['exchange', 'shortstr'],
    ['routingKey', 'shortstr'],
    ['mandatory', 'bit'],
    ['immediate', 'bit'],
  ]),
  'basic.return': m(60, 50, [
    ['replyCode', 'short'],
    ['replyText', 'shortstr'],
    ['exchange', 'shortstr'],
    ['routingKey', 'shortstr'],
  ]),
  'basic.deliver': m(60, 60, [
    ['consumerTag', 'shortstr'],
    ['deliveryTag', 'longlong'],
    ['redelivered', 'bit'],
    ['exchange', 'shortstr'],
    ['routingKey', 'shortstr'],
  ]),
  'basic.get': m(60, 70, [
    ['ticket', 'short'],
    ['queue', 'shortstr'],
    ['noAck', 'bit'],
  ]),
  'basic.get-ok': m(60, 71, [
    ['deliveryTag', 'longlong'],
    ['redelivered', 'bit'],
    ['exchange', 'shortstr'],
    ['routingKey', 'shortstr'],
    ['messageCount', 'long'],
  ]),
  'basic.get-empty': m(60, 72, [['reserved1', 'shortstr']]),
  'basic.ack': m(60, 80, [
    ['deliveryTag', 'longlong'],
    ['multiple', 'bit'],
  ]),
  'basic.reject': m(60, 90, [
    ['deliveryTag', 'longlong'],
    ['requeue', 'bit'],
  ]),
  'basic.recover-async': m(60, 100, [['requeue', 'bit']]),
  'basic.recover': m(60, 110, [['requeue', 'bit']]),
  'basic.recover-ok': m(60, 111, []),
  'basic.nack': m(60, 120, [
    ['deliveryTag', 'longlong'],
    ['multiple', 'bit'],
    ['requeue', 'bit'],
  ]),

  'confirm.select': m(85, 10, [['nowait', 'bit']]),
  'confirm.select-ok': m(85, 11, []),

  'tx.select': m(90, 10, []),
  'tx.select-ok': m(90, 11, []),
  'tx.commit': m(90, 20, []),
  'tx.commit-ok': m(90, 21, []),
  'tx.rollback': m(90, 30, []),
  'tx.rollback-ok': m(90, 31, []),
} as const;

export type MethodName = keyof typeof METHODS;

/** The arguments of a method, by field name. */
export type MethodArgs<N extends MethodName> = {
  readonly [F in (typeof METHODS)[N]['fields'][number] as F[0]]: FieldTypes[F[1]];
};

/** A method read from a frame. */
export type Method = { [N in MethodName]: { readonly name: N; readonly args: MethodArgs<N> } }[MethodName];

function m<const F extends readonly Field[]>(
  classId: number,
  methodId: number,
  fields: F,
): { classId: number; methodId: number; fields: F } {
  return { classId, methodId, fields };
}

/** The shape of a method, with its fields as plain data. */
export function shapeOf(name: MethodName): MethodShape {
  return METHODS[name];
}

const BY_ID: ReadonlyMap<number, MethodName> = new Map(
  Object.entries(METHODS).map(([name, shape]) => [
    shape.classId * 0x1_0000 + shape.methodId,
    name as MethodName,
  ]),
);

/** The method with these ids, or undefined. */
export function methodNamed(classId: number, methodId: number): MethodName | undefined {
  return BY_ID.get(classId * 0x1_0000 + methodId);
}
