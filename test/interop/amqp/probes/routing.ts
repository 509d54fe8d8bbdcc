import { EMPTY_TABLE } from '../../../../src/connectors/amqp/wire/field-table.js';
import { table } from '../../../support/raw-amqp.js';
import { alone, bindTo, each, headers, list, text, wait } from './probe.js';
import type { Probe } from './probe.js';

/** Exchanges, bindings and their names. */
export const ROUTING_PROBES: Readonly<Record<string, Probe>> = {
  'cycles of exchanges': async (one) => {
    for (const name of ['p.cy.a', 'p.cy.b']) await one.exchange(name, 'fanout');
    const link = (source: string, destination: string) =>
      one.call(1, 'exchange.bind', { ...bindTo, destination, source, routingKey: '' });
    const answers = [await link('p.cy.a', 'p.cy.b'), await link('p.cy.b', 'p.cy.a')];
    await one.declare('p.cy.q');
    await one.bind('p.cy.q', 'p.cy.a', '');
    await one.bind('p.cy.q', 'p.cy.b', '');
    one.publish('k', 'once', { exchange: 'p.cy.b' });
    answers.push(await one.get('p.cy.q'), await one.get('p.cy.q'));
    for (const name of ['p.cy.a', 'p.cy.b', 'p.cy.none'])
      answers.push(
        await one.call(1, 'exchange.delete', { ticket: 0, exchange: name, ifUnused: false, nowait: false }),
      );
    return answers;
  },
  'auto-delete exchanges in a row': async (one) => {
    for (const name of ['p.ad.outer', 'p.ad.inner']) await one.exchange(name, 'fanout', { autoDelete: true });
    await one.declare('p.ad.q', { autoDelete: true });
    await one.call(1, 'exchange.bind', {
      ...bindTo,
      destination: 'p.ad.inner',
      source: 'p.ad.outer',
      routingKey: '',
    });
    await one.bind('p.ad.q', 'p.ad.inner', '');
    const answers = [await one.consume('p.ad.q', 't')];
    answers.push(await one.call(1, 'basic.cancel', { consumerTag: 't', nowait: false }));
    await wait(100);
    return [
      ...answers,
      ...(await each(one, [
        () => one.exchange('p.ad.inner', 'fanout', { passive: true }),
        () => one.exchange('p.ad.outer', 'fanout', { passive: true }),
      ])),
    ];
  },
  'exchange.unbind, and deleting exchanges in use': async (one) => {
    await one.exchange('p.ub.a', 'direct');
    await one.exchange('p.ub.b', 'fanout');
    const ends = { destination: 'p.ub.b', source: 'p.ub.a', routingKey: 'k' };
    const drop = (exchange: string, ifUnused: boolean) => () =>
      one.call(1, 'exchange.delete', { ticket: 0, exchange, ifUnused, nowait: false });
    return each(one, [
      () => one.call(1, 'exchange.bind', { ...bindTo, ...ends }),
      drop('p.ub.b', true),
      () => one.exchange('p.ub.b', 'fanout'),
      () => one.call(1, 'exchange.bind', { ...bindTo, ...ends }),
      drop('p.ub.a', true),
      () => one.call(1, 'exchange.unbind', { ...bindTo, ...ends, routingKey: 'other' }),
      () => one.call(1, 'exchange.unbind', { ...bindTo, ...ends }),
      () => one.call(1, 'exchange.unbind', { ...bindTo, ...ends }),
      drop('p.ub.a', true),
      drop('p.ub.b', true),
    ]);
  },
  'names: carriage returns, long ones, and other alphabets': async (one) => {
    const long = 'я'.repeat(100);
    return each(one, [
      () => one.declare('p.\r\ncrlf'),
      () => one.declare('p.crlf', { passive: true }),
      () => one.declare(long),
      () => one.exchange(long, 'direct'),
      () => one.bind(long, long, long),
    ]);
  },
  'exchange types and arguments that are wrong': async (one, { port }) => [
    await alone(port, (two) => two.exchange('p.weird', 'banana')),
    await alone(port, (two) => two.exchange('p.weird', '')),
    ...(await each(one, [
      () => one.exchange('p.ae1', 'direct', { arguments: table({ 'alternate-exchange': 7 }) }),
      () => one.exchange('p.aex', 'direct', { arguments: table({ 'alternate-exchange': 'p.aex.to' }) }),
      () => one.exchange('p.aex', 'direct', { arguments: table({ 'alternate-exchange': 'p.other' }) }),
      () => one.exchange('p.aex', 'direct'),
      () =>
        one.exchange('p.aex', 'direct', {
          arguments: table({ 'alternate-exchange': 'p.aex.to', 'x-foo': 1 }),
        }),
      () =>
        one.exchange('p.aex', 'direct', {
          durable: true,
          arguments: table({ 'alternate-exchange': 'p.aex.to' }),
        }),
      () =>
        one.exchange('p.aex', 'direct', {
          internal: true,
          arguments: table({ 'alternate-exchange': 'p.aex.to' }),
        }),
      () =>
        one.exchange('p.aex', 'direct', {
          autoDelete: true,
          arguments: table({ 'alternate-exchange': 'p.aex.to' }),
        }),
      () => one.exchange('amq.topic', 'topic', { durable: true }),
      () => one.exchange('amq.topic', 'topic'),
      () => one.exchange('amq.new', 'topic'),
      () => one.exchange('p.xm', 'headers'),
      () => one.declare('p.xmq'),
      () => one.bind('p.xmq', 'p.xm', '', table({ 'x-match': 'some' })),
      () => one.bind('p.xmq', 'p.xm', '', table({ 'x-match': 7 })),
    ])),
  ],
  'alternate exchanges in a row, and one that is missing': async (one) => {
    await one.exchange('p.aa3', 'fanout');
    await one.exchange('p.aa2', 'direct', { arguments: table({ 'alternate-exchange': 'p.aa3' }) });
    await one.exchange('p.aa1', 'direct', { arguments: table({ 'alternate-exchange': 'p.aa2' }) });
    await one.exchange('p.aam', 'direct', { arguments: table({ 'alternate-exchange': 'p.nowhere' }) });
    await one.declare('p.aaq');
    await one.bind('p.aaq', 'p.aa3', '');
    one.publish('lost', 'found', { exchange: 'p.aa1', mandatory: true });
    one.publish('lost', 'returned', { exchange: 'p.aam', mandatory: true });
    return [...(await one.rest()), await one.get('p.aaq')];
  },
  'mandatory, and only CC has a way': async (one) => {
    await one.declare('p.mcc');
    one.publish('p.mcc.nowhere', 'x', { mandatory: true, ...headers({ CC: list('p.mcc') }) });
    return [...(await one.rest()), await one.get('p.mcc')];
  },
  'BCC of a wrong type': async (one) => {
    one.publish('p.b', 'x', headers({ BCC: text('k') }));
    return [await one.answer()];
  },
  'bindings: the same twice, with arguments, and both ends again': async (one) => {
    await one.declare('p.bi');
    const unbind = (args = EMPTY_TABLE) =>
      one.call(1, 'queue.unbind', {
        ticket: 0,
        queue: 'p.bi',
        exchange: 'amq.direct',
        routingKey: 'k',
        arguments: args,
      });
    const answers = [
      await one.bind('p.bi', 'amq.direct', 'k'),
      await one.bind('p.bi', 'amq.direct', 'k', table({ a: 1 })),
      await one.bind('p.bi', 'amq.direct', 'k', table({ a: 1 })),
    ];
    one.publish('k', '1', { exchange: 'amq.direct' });
    answers.push(await one.get('p.bi'), await one.get('p.bi'), await unbind());
    one.publish('k', '2', { exchange: 'amq.direct' });
    answers.push(await one.get('p.bi'), await unbind(table({ a: 2 })), await unbind(table({ a: 1 })));
    one.publish('k', '3', { exchange: 'amq.direct' });
    return [...answers, await one.get('p.bi')];
  },
};
