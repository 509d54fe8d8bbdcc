import type { FieldValue } from '../../../../src/connectors/amqp/wire/field-table.js';
import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import { table } from '../../../support/raw-amqp.js';
import { bindTo, each, text } from './probe.js';
import type { Probe } from './probe.js';

/** One value of every type there is, each the number 5 where it can be. */
const VALUES: readonly FieldValue[] = [
  { tag: 't', value: true },
  { tag: 'b', value: 5 },
  { tag: 'B', value: 5 },
  { tag: 's', value: 5 },
  { tag: 'u', value: 5 },
  { tag: 'I', value: 5 },
  { tag: 'i', value: 5 },
  { tag: 'l', value: 5n },
  { tag: 'f', value: 5.5 },
  { tag: 'd', value: 5.5 },
  { tag: 'D', value: { scale: 1, unscaled: 5 } },
  text('5'),
  { tag: 'x', value: Buffer.from('5') },
  { tag: 'T', value: 5n },
  { tag: 'V', value: null },
];

/** Arguments of every type, where none or others are wanted. */
export const ARGUMENTS_PROBES: Readonly<Record<string, Probe>> = {
  'queue arguments: each has its type': (one) => {
    const bad = (name: string, value: FieldValue) => () =>
      one.declare('p.arg', { durable: true, arguments: new Map([[name, value]]) });
    const stream = (age: FieldValue) => () =>
      one.declare('p.arg', {
        durable: true,
        arguments: new Map([
          ['x-queue-type', text('stream')],
          ['x-max-age', age],
        ]),
      });
    return each(one, [
      ...VALUES.filter(({ tag }) => !'bBsuIil'.includes(tag)).map((value) => bad('x-max-length', value)),
      bad('x-max-length-bytes', { tag: 'I', value: -1 }),
      bad('x-max-length-bytes', text('5')),
      bad('x-max-priority', { tag: 'I', value: -1 }),
      bad('x-max-priority', text('5')),
      bad('x-expires', { tag: 'I', value: -1 }),
      bad('x-expires', text('5')),
      bad('x-message-ttl', { tag: 'l', value: 315_360_000_001n }),
      bad('x-expires', { tag: 'l', value: 315_360_000_001n }),
      bad('x-overflow', { tag: 'I', value: 5 }),
      bad('x-dead-letter-exchange', { tag: 'I', value: 5 }),
      bad('x-dead-letter-routing-key', { tag: 'I', value: 5 }),
      bad('x-queue-type', { tag: 'I', value: 5 }),
      bad('x-queue-type', text('weird')),
      bad('x-queue-mode', { tag: 'I', value: 5 }),
      bad('x-single-active-consumer', text('true')),
      stream({ tag: 'I', value: 5 }),
      stream(text('5')),
      stream(text('5W')),
    ]);
  },
  'redeclare a queue with an argument of each type': async (one) => {
    await one.declare('p.argt');
    return each(
      one,
      VALUES.map((value) => () => one.declare('p.argt', { arguments: new Map([['x-max-length', value]]) })),
    );
  },
  'redeclare a queue with the same number as another type': async (one) => {
    await one.declare('p.argn', { arguments: table({ 'x-max-length': 5 }) });
    return each(
      one,
      // A decimal is an internal error there.
      VALUES.filter(({ tag }) => tag !== 'D').map(
        (value) => () => one.declare('p.argn', { arguments: new Map([['x-max-length', value]]) }),
      ),
    );
  },
  'the longest life there may be': async (one) => {
    const answers = [
      await one.declare('p.long', {
        arguments: new Map([['x-message-ttl', { tag: 'l', value: 315_360_000_000n }]]),
      }),
    ];
    one.publish('p.long', 'x', { properties: { expiration: '315360000000' } });
    return [...answers, await one.get('p.long')];
  },
  'the default exchange: nothing is bound to it, and nothing unbound': async (one) => {
    await one.declare('p.defu');
    const ends = (source: string, destination: string) => ({
      ...bindTo,
      source,
      destination,
      routingKey: '',
    });
    const unbind = { ticket: 0, queue: 'p.defu', exchange: '', routingKey: 'p.defu', arguments: EMPTY_TABLE };
    return each(one, [
      () => one.call(1, 'queue.unbind', unbind),
      () => one.call(1, 'exchange.bind', ends('', 'amq.direct')),
      () => one.call(1, 'exchange.bind', ends('amq.direct', '')),
      () => one.call(1, 'exchange.unbind', ends('', 'amq.direct')),
      () => one.call(1, 'exchange.unbind', ends('amq.direct', '')),
    ]);
  },
  'ends of bindings that are missing': async (one) => {
    await one.declare('p.ends');
    const ends = (source: string, destination: string) => ({
      ...bindTo,
      source,
      destination,
      routingKey: '',
    });
    return each(one, [
      () => one.bind('p.ends', 'p.ends.no', ''),
      () => one.bind('p.ends.no', 'p.ends.no', ''),
      () => one.call(1, 'exchange.bind', ends('p.ends.no', 'amq.direct')),
      () => one.call(1, 'exchange.bind', ends('p.ends.no', 'p.ends.neither')),
      () => one.call(1, 'exchange.unbind', ends('p.ends.no', 'amq.direct')),
      () => one.call(1, 'exchange.unbind', ends('amq.direct', 'p.ends.no')),
    ]);
  },
  'names the server made are its own': async (one) => {
    const declared = await one.declare('', { exclusive: true });
    const name = declared.split(' ')[1] ?? '';
    const again = await each(one, [
      () => one.declare(name, { exclusive: true }),
      () => one.declare(name, { passive: true }),
      () => one.declare('amq.gen-other', { exclusive: true }),
      () => one.declare('amq.gen-other', { passive: true }),
    ]);
    const tag = (await one.consume(name, '')).split(' ')[1] ?? '';
    return [
      ...again.map((answer) => answer.replaceAll(name, 'amq.gen-NAME')),
      name.replace(/^amq\.gen-[\w-]{22}$/, 'amq.gen-NAME'),
      tag.replace(/^amq\.ctag-[\w-]{22}$/, 'amq.ctag-NAME'),
    ];
  },
  'a passive declare looks at the name alone': async (one) => {
    await one.declare('p.pas', { durable: true });
    await one.exchange('p.pasx', 'fanout', { durable: true });
    return each(one, [
      () =>
        one.declare('p.pas', {
          passive: true,
          autoDelete: true,
          exclusive: true,
          arguments: table({ 'x-max-length': 5 }),
        }),
      () => one.exchange('p.pasx', 'direct', { passive: true, internal: true }),
      () => one.exchange('p.pasx', '', { passive: true }),
      () => one.exchange('p.pasx', 'banana', { passive: true }),
    ]);
  },
};
