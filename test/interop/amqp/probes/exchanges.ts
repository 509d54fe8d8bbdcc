import { table } from '../../../support/raw-amqp.js';
import { each } from './probe.js';
import type { Probe } from './probe.js';

/** Exchanges of further types. */
export const EXCHANGES_PROBES: Readonly<Record<string, Probe>> = {
  'consistent-hash exchange': async (one) => {
    await one.exchange('p.hash', 'x-consistent-hash');
    await one.declare('p.h1');
    await one.declare('p.h2');
    const answers = await each(one, [
      () => one.bind('p.h1', 'p.hash', ''),
      () => one.bind('p.h1', 'p.hash', 'a'),
      () => one.bind('p.h1', 'p.hash', '0'),
      () => one.bind('p.h1', 'p.hash', '-1'),
      () => one.bind('p.h1', 'p.hash', '1'),
      () => one.bind('p.h2', 'p.hash', '2'),
    ]);
    for (let i = 0; i < 60; i++) one.publish(`key.${String(i)}`, 'x', { exchange: 'p.hash' });
    await one.rest();
    const counts: number[] = [];
    for (const queue of ['p.h1', 'p.h2']) {
      const declared = await one.declare(queue);
      counts.push(Number(/(\d+) \d+$/.exec(declared)?.[1]));
    }
    const [first = 0, second = 0] = counts;
    return [...answers, `${String(first + second)} in all, ${String(first > 0 && second > 0)}`];
  },
  'consistent-hash arguments': async (one) =>
    each(one, [
      () =>
        one.exchange('p.hashb', 'x-consistent-hash', {
          arguments: table({ 'hash-header': 'h', 'hash-property': 'message_id' }),
        }),
      () => one.exchange('p.hashb', 'x-consistent-hash', { arguments: table({ 'hash-property': 'app_id' }) }),
      () =>
        one.exchange('p.hashb', 'x-consistent-hash', { arguments: table({ 'hash-property': 'message_id' }) }),
    ]),
};
