import { describe, expect, it } from 'vitest';
import { EMPTY_TABLE, stringField } from '../wire/field-table.js';
import { chooseByHash, hashedText } from './consistent-hash.js';
import type { Binding } from './types.js';

function binding(name: string, weight: number): Binding {
  const destination = { kind: 'queue', name } as const;
  return { source: 'x', destination, routingKey: String(weight), arguments: EMPTY_TABLE, durable: false };
}

const KEYS = Array.from({ length: 20_000 }, (_, i) => `key.${String(i)}`);

function chosen(bindings: readonly Binding[]): readonly string[] {
  return KEYS.map((key) => chooseByHash(bindings, key)?.destination.name ?? 'none');
}

describe('consistent hashing', () => {
  it('gives each binding its share by weight', () => {
    const names = chosen([binding('a', 1), binding('b', 2), binding('c', 5)]);
    for (const [name, share] of [
      ['a', 1 / 8],
      ['b', 2 / 8],
      ['c', 5 / 8],
    ] as const) {
      const part = names.filter((one) => one === name).length / KEYS.length;
      expect(Math.abs(part - share)).toBeLessThan(0.02);
    }
  });

  it('moves only what a binding gains or loses', () => {
    const [a, b, c] = [binding('a', 1), binding('b', 1), binding('c', 1)];
    const with3 = chosen([a, b, c]);
    const with2 = chosen([c, a]);
    with3.forEach((name, i) => {
      if (name !== 'b') expect(with2[i]).toBe(name);
    });
    expect(chosen([])[0]).toBe('none');
  });

  it('hashes what the exchange says', () => {
    const properties = () => ({
      headers: new Map([['h', stringField('from header')]]),
      correlationId: 'c',
      timestamp: 7n,
    });
    const by = (name: string, value: string): string =>
      hashedText(new Map([[name, stringField(value)]]), 'key', properties);
    expect(hashedText(EMPTY_TABLE, 'key', properties)).toBe('key');
    expect(by('hash-header', 'h')).toBe('Sfrom header');
    expect(by('hash-header', 'other')).toBe('');
    expect(by('hash-property', 'correlation_id')).toBe('c');
    expect(by('hash-property', 'message_id')).toBe('');
    expect(by('hash-property', 'timestamp')).toBe('7');
  });
});
