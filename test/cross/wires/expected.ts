import type { ConsumerName, Message, ProducerName } from './wire.js';

/**
 * What a consumer sees of a message's one attribute: under which name and with which value (the seeds' channel mappings and
 * the rules for foreign messages).
 *
 * - SQS and SNS write attributes as tags `sqs_attr_{name}` = `{type}|{value}`, which only SQS reads back as attributes.
 * - AMQP keeps headers in its metadata envelope, which other protocols see as native metadata only; they see its properties.
 * - Pub/Sub attributes and native tags are tags as they are.
 */
export function expectedAttribute(
  producer: ProducerName,
  consumer: ConsumerName,
  { attribute }: Message,
): { readonly name: string; readonly value: string } {
  switch (producer) {
    case 'SQS':
    case 'SNS':
      return consumer === 'SQS'
        ? attribute
        : { name: `sqs_attr_${attribute.name}`, value: `String|${attribute.value}` };
    case 'AMQP':
      return consumer === 'AMQP' ? attribute : { name: 'amqp.content-type', value: 'text/plain' };
    case 'Pub/Sub':
    case 'native':
      return attribute;
  }
}

/** What a consumer sees of what the sender said besides; undefined where nothing was said or nothing can be shown. */
export function expectedMetadata(
  producer: ProducerName,
  consumer: ConsumerName,
  { attribute }: Message,
): string | undefined {
  if (consumer === 'SQS' || consumer === 'Pub/Sub') return undefined;
  if (producer === 'native') return 'native metadata';
  const envelope = JSON.stringify({ amqp_headers: { [attribute.name]: attribute.value } });
  if (consumer === 'native') return producer === 'AMQP' ? envelope : '';
  return undefined;
}
