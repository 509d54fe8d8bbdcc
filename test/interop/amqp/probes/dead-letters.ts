import type { FieldValue } from '../../../../src/connectors/amqp/wire/field-table.js';
import { table } from '../../../support/raw-amqp.js';
import { headers, list, text, until, wait } from './probe.js';
import type { Probe } from './probe.js';

/** Where dead letters go, and what is told of them. */
export const DEAD_LETTERS_PROBES: Readonly<Record<string, Probe>> = {
  'dead letters: CC and BCC route again': async (one) => {
    await one.declare('p.cc.src', { arguments: table({ 'x-dead-letter-exchange': 'amq.direct' }) });
    for (const key of ['p.cc.src', 'p.cc1', 'p.bcc1']) {
      await one.declare(`p.cc.to.${key}`);
      await one.bind(`p.cc.to.${key}`, 'amq.direct', key);
    }
    one.publish('p.cc.src', 'x', headers({ CC: list('p.cc1'), BCC: list('p.bcc1') }));
    await one.get('p.cc.src', false);
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
    const answers: string[] = [];
    for (const key of ['p.cc.src', 'p.cc1', 'p.bcc1']) answers.push(await until(one, `p.cc.to.${key}`));
    return answers;
  },
  'dead letters: a new key takes CC away': async (one) => {
    await one.declare('p.ck.dead');
    await one.declare('p.ck.src', {
      arguments: table({ 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'p.ck.dead' }),
    });
    one.publish('p.ck.src', 'x', headers({ CC: list('p.ck.cc'), h: text('kept') }));
    await one.get('p.ck.src', false);
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
    return [await until(one, 'p.ck.dead')];
  },
  'dead letters: published again and rejected again': async (one) => {
    await one.declare('p.ra.dead');
    await one.declare('p.ra', {
      arguments: table({ 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'p.ra.dead' }),
    });
    const answers: string[] = [];
    let death: FieldValue = { tag: 'A', value: [] };
    for (let tag = 1; tag <= 3; tag += 2) {
      one.publish('p.ra', 'x', headers({ 'x-death': death }));
      await one.get('p.ra', false);
      one.send(1, 'basic.reject', { deliveryTag: tag, requeue: false });
      answers.push(await until(one, 'p.ra.dead'));
      death = {
        tag: 'A',
        value: [
          {
            tag: 'F',
            value: new Map<string, FieldValue>([
              ['count', { tag: 'l', value: 1n }],
              ['exchange', text('')],
              ['queue', text('p.ra')],
              ['reason', text('rejected')],
              ['routing-keys', list('p.ra')],
              ['time', { tag: 'T', value: 1n }],
            ]),
          },
        ],
      };
    }
    return answers;
  },
  'dead letters: the time to live begins anew in the next queue': async (one) => {
    await one.declare('p.t2.end');
    await one.declare('p.t2.b', {
      arguments: table({
        'x-message-ttl': 700,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': 'p.t2.end',
      }),
    });
    await one.declare('p.t2.a', {
      arguments: table({
        'x-message-ttl': 100,
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': 'p.t2.b',
      }),
    });
    one.publish('p.t2.a', 'x');
    await wait(400);
    const answers = [
      await one.declare('p.t2.b', { passive: true }),
      await one.declare('p.t2.end', { passive: true }),
    ];
    return [...answers, await until(one, 'p.t2.end')];
  },
  'a dead-letter exchange that is not there': async (one) => {
    await one.declare('p.nodlx', { arguments: table({ 'x-dead-letter-exchange': 'p.nothing' }) });
    one.publish('p.nodlx', 'x');
    const answers = [await one.get('p.nodlx', false)];
    one.send(1, 'basic.reject', { deliveryTag: 1, requeue: false });
    answers.push(await one.get('p.nodlx'), await one.declare('p.nodlx', { passive: true }));
    return answers;
  },
};
