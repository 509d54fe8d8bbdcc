import type { RunningBroker } from '../../../src/app/index.js';
import type { MethodArgs, MethodName } from '../../../src/connectors/amqp/wire/methods.js';
import { RawAmqp, table } from '../../support/raw-amqp.js';
import { Denied, right, type Right } from './policy-cases.js';

export const queue = (name: string, access: Right['access']): Right =>
  right('Queues', access, `amqp.default.${name}`);
/** To the rules an exchange is called like a queue. */
export const exchange = (name: string, access: Right['access']): Right => queue(name, access);

type Table = Parameters<typeof table>[0];

const QOS = { prefetchSize: 0, prefetchCount: 0, global: false };
const CLOSE = { replyCode: 200, replyText: '', failedClassId: 0, failedMethodId: 0 };
const BINDING = { ticket: 0, routingKey: 'k', nowait: false, arguments: table({}) };
/** What comes unasked. */
const UNASKED = /^(deliver|basic\.(cancel|return|ack)) /;

/** AMQP's methods with the least that they take, on the connection that was begun last. A refusal is thrown as `Denied`. */
export class AmqpCalls {
  #running: RunningBroker | undefined;
  #raw: RawAmqp | undefined;

  open(running: RunningBroker): void {
    this.#running = running;
  }

  /** Ends the connection; the broker has taken back what was held on it. */
  async close(): Promise<void> {
    const raw = this.#raw;
    this.#raw = undefined;
    raw?.send(0, 'connection.close', CLOSE);
    while (raw !== undefined && !/^(connection\.close-ok|EOF)/.test(await raw.answer()));
    await raw?.close();
  }

  /** A connection of its own for what follows. */
  async begin(): Promise<void> {
    await this.close();
    if (this.#running === undefined) throw new Error('there is no broker');
    this.#raw = await RawAmqp.open(this.#running.address('amqp').port);
  }

  get #wire(): RawAmqp {
    if (this.#raw === undefined) throw new Error('there is no connection');
    return this.#raw;
  }

  async call<N extends MethodName>(name: N, args: MethodArgs<N>): Promise<string> {
    this.#wire.send(1, name, args);
    return this.#answer();
  }

  /** For methods without an answer: that of the next one. */
  async synced<N extends MethodName>(name: N, args: MethodArgs<N>): Promise<string> {
    this.#wire.send(1, name, args);
    return this.call('basic.qos', QOS);
  }

  async #answer(): Promise<string> {
    let answer: string;
    do answer = await this.#wire.answer();
    while (UNASKED.test(answer));
    const [, refusal] = /^CH 403 (.*) \[[\d.]+\]$/.exec(answer) ?? [];
    if (refusal !== undefined) throw new Denied(refusal);
    if (/^(CH|CONN|EOF|\()/.test(answer)) throw new Error(answer);
    return answer;
  }

  // Each of them -----------------------------------------------------------------------------------------------

  declare(queue: string, more: Partial<MethodArgs<'queue.declare'>> = {}, args: Table = {}): Promise<string> {
    const flags = { passive: false, durable: false, exclusive: false, autoDelete: false, nowait: false };
    return this.call('queue.declare', { ticket: 0, queue, ...flags, ...more, arguments: table(args) });
  }

  declareExchange(
    exchange: string,
    more: Partial<MethodArgs<'exchange.declare'>> = {},
    args: Table = {},
  ): Promise<string> {
    const flags = { passive: false, durable: false, autoDelete: false, internal: false, nowait: false };
    const all = { ticket: 0, exchange, type: 'fanout', ...flags, ...more, arguments: table(args) };
    return this.call('exchange.declare', all);
  }

  async makeQueue(name: string): Promise<void> {
    await this.declare(name);
  }

  async makeExchange(name: string): Promise<void> {
    await this.declareExchange(name);
  }

  deleteQueue(queue: string): Promise<string> {
    return this.call('queue.delete', { ticket: 0, queue, ifUnused: false, ifEmpty: false, nowait: false });
  }

  deleteExchange(exchange: string): Promise<string> {
    return this.call('exchange.delete', { ticket: 0, exchange, ifUnused: false, nowait: false });
  }

  purge(queue: string): Promise<string> {
    return this.call('queue.purge', { ticket: 0, queue, nowait: false });
  }

  /** Of a queue or an exchange to an exchange. */
  bind(
    name: 'queue.bind' | 'queue.unbind' | 'exchange.bind' | 'exchange.unbind',
    to: string,
    from: string,
  ): Promise<string> {
    return this.call(name, { ...BINDING, queue: to, destination: to, exchange: from, source: from });
  }

  async publish(
    routingKey: string,
    to: { readonly exchange?: string; readonly cc?: readonly string[]; readonly replyTo?: string } = {},
  ): Promise<string> {
    this.#wire.publish(routingKey, 'x', {
      exchange: to.exchange ?? '',
      properties: {
        ...(to.replyTo === undefined ? {} : { replyTo: to.replyTo }),
        ...(to.cc === undefined ? {} : { headers: table({ CC: to.cc }) }),
      },
    });
    return this.call('basic.qos', QOS);
  }

  get(queue: string, noAck: boolean): Promise<string> {
    return this.call('basic.get', { ticket: 0, queue, noAck });
  }

  consume(queue: string, more: Partial<MethodArgs<'basic.consume'>> = {}): Promise<string> {
    const flags = { noLocal: false, noAck: false, exclusive: false, nowait: false };
    const all = { ticket: 0, queue, consumerTag: '', ...flags, arguments: table({}), ...more };
    return this.call('basic.consume', all);
  }

  /** The first delivery of the connection. */
  settle(name: 'basic.ack' | 'basic.nack' | 'basic.reject', requeue: boolean): Promise<string> {
    return this.synced(name, { deliveryTag: 1, multiple: false, requeue });
  }
}
