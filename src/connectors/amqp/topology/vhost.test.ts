import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../../core/channel-name.js';
import type { FieldTable, FieldValue } from '../wire/field-table.js';
import { EMPTY_TABLE, stringField } from '../wire/field-table.js';
import type { Binding, ExchangeType } from './types.js';
import { Vhost } from './vhost.js';

const BINDINGS = 100_000;
const LOOKUPS = 2_000;
/** Looks at bindings that a lookup, or a removal, may take: those it is about, several times each. */
const LOOKS_MAX = 12;

/** Looks at any binding so far. */
let looks = 0;

/** A binding that counts who looks at it. */
class CountedBinding implements Binding {
  readonly source = 'x';
  readonly durable = false;
  readonly #of: Pick<Binding, 'destination' | 'routingKey' | 'arguments'>;

  constructor(of: Pick<Binding, 'destination' | 'routingKey' | 'arguments'>) {
    this.#of = of;
  }

  get destination(): Binding['destination'] {
    looks++;
    return this.#of.destination;
  }

  get routingKey(): string {
    looks++;
    return this.#of.routingKey;
  }

  get arguments(): FieldTable {
    looks++;
    return this.#of.arguments;
  }
}

function vhostWith(type: ExchangeType): Vhost {
  const vhost = new Vhost('/');
  vhost.putExchange({
    name: 'x',
    type,
    durable: false,
    autoDelete: false,
    internal: false,
    arguments: EMPTY_TABLE,
  });
  for (let i = 0; i < 100; i++) {
    vhost.putQueue({
      name: `q${String(i)}`,
      channel: `amqp.default.q${String(i)}` as ChannelName,
      durable: false,
      owner: undefined,
      autoDelete: false,
      arguments: EMPTY_TABLE,
    });
  }
  return vhost;
}

function bindingOf(i: number, routingKey: string, args: FieldTable = EMPTY_TABLE): Binding {
  const destination = { kind: 'queue', name: `q${String(i % 100)}` } as const;
  return new CountedBinding({ destination, routingKey, arguments: args });
}

const headersOf = (i: number): FieldTable =>
  new Map<string, FieldValue>([
    ['kind', stringField('order')],
    ['customer', { tag: 'I', value: i }],
  ]);

const KINDS: readonly {
  readonly type: ExchangeType;
  readonly bind: (i: number) => Binding;
  readonly key: (i: number) => string;
  readonly headers: (i: number) => FieldTable;
}[] = [
  {
    type: 'direct',
    bind: (i) => bindingOf(i, `key.${String(i)}`),
    key: (i) => `key.${String(i)}`,
    headers: () => EMPTY_TABLE,
  },
  {
    type: 'topic',
    bind: (i) => bindingOf(i, i % 2 === 0 ? `eu.${String(i)}.*.#` : `*.${String(i)}.created`),
    key: (i) => `eu.${String(i)}.created`,
    headers: () => EMPTY_TABLE,
  },
  { type: 'headers', bind: (i) => bindingOf(i, '', headersOf(i)), key: () => '', headers: headersOf },
];

describe(`${String(BINDINGS)} bindings of one exchange`, () => {
  for (const { type, bind, key, headers } of KINDS) {
    it(`${type}: routing looks at what matches`, () => {
      const vhost = vhostWith(type);
      const exchange = vhost.exchanges.get('x');
      const bindings = Array.from({ length: BINDINGS }, (_, i) => bind(i));
      for (const binding of bindings) vhost.putBinding(binding);
      const look = (i: number): readonly string[] =>
        vhost.route(exchange, [key(i)], () => ({ headers: headers(i) })).map((queue) => queue.name);
      expect(look(77)).toEqual(['q77']);
      let most = 0;
      for (let i = 0; i < LOOKUPS; i++) {
        const before = looks;
        expect(look((i * 7919) % BINDINGS)).toHaveLength(1);
        most = Math.max(most, looks - before);
      }
      expect(most).toBeLessThanOrEqual(LOOKS_MAX);
      // And they go as easily as they came.
      most = 0;
      for (const binding of vhost.bindingsTo({ kind: 'queue', name: 'q77' })) {
        const before = looks;
        vhost.removeBinding(binding);
        most = Math.max(most, looks - before);
      }
      expect(most).toBeLessThanOrEqual(LOOKS_MAX);
      expect(look(77)).toEqual([]);
      expect(vhost.bindingsFrom('x').size).toBe(BINDINGS - BINDINGS / 100);
    });
  }
});
