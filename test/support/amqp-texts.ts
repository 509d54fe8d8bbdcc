import type { FieldTable, FieldValue } from '../../src/connectors/amqp/wire/field-table.js';
import type { Method } from '../../src/connectors/amqp/wire/methods.js';
import type { Properties } from '../../src/connectors/amqp/wire/properties.js';

/** A method as one line that brokers can be compared by. */
export function describeMethod(method: Method): string {
  switch (method.name) {
    case 'channel.close':
    case 'connection.close': {
      const { replyCode, replyText, failedClassId, failedMethodId } = method.args;
      const where = method.name === 'channel.close' ? 'CH' : 'CONN';
      return `${where} ${String(replyCode)} ${replyText} [${String(failedClassId)}.${String(failedMethodId)}]`;
    }
    case 'basic.deliver': {
      const { consumerTag, deliveryTag, redelivered, exchange, routingKey } = method.args;
      return `deliver ${consumerTag} #${String(deliveryTag)}${redelivered ? ' redelivered' : ''} ${exchange}/${routingKey}`;
    }
    case 'basic.get-ok': {
      const { deliveryTag, redelivered, exchange, routingKey, messageCount } = method.args;
      return `get-ok #${String(deliveryTag)}${redelivered ? ' redelivered' : ''} ${exchange}/${routingKey} +${String(messageCount)}`;
    }
    case 'connection.start':
      return 'connection.start';
    default:
      return `${method.name} ${Object.values(method.args).map(String).join(' ')}`.trimEnd();
  }
}

export function describeProperties(properties: Properties): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    parts.push(`${name}=${value instanceof Map ? describeTable(value as FieldTable) : String(value)}`);
  }
  return parts.length === 0 ? '' : ` {${parts.join(', ')}}`;
}

function describeTable(fields: FieldTable): string {
  // Maps have no order: brokers may keep or sort them.
  const sorted = [...fields].sort(([a], [b]) => (a < b ? -1 : 1));
  return `[${sorted.map(([key, field]) => `${key}:${describeField(field)}`).join(', ')}]`;
}

function describeField(field: FieldValue): string {
  switch (field.tag) {
    case 'S':
    case 'x':
      return `${field.tag}"${Buffer.from(field.value).toString()}"`;
    case 'F':
      return `F${describeTable(field.value)}`;
    case 'A':
      return `A(${field.value.map(describeField).join(' ')})`;
    case 'T':
      return 'T(time)';
    case 'D':
      return `D${String(field.value.unscaled)}e-${String(field.value.scale)}`;
    default:
      return `${field.tag}${String(field.value)}`;
  }
}
