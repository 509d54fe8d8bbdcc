import { expect, it } from 'vitest';
import { erlangBinary, erlangFloat } from './erlang-terms.js';

it('numbers are printed as Erlang prints them', () => {
  const printed: Readonly<Record<string, number>> = {
    '0.0': 0,
    '5.5': 5.5,
    '-5.5': -5.5,
    '10.0': 10,
    '100.0': 100,
    '1.0e3': 1000,
    '6.0e4': 60_000,
    '12345.0': 12_345,
    '0.1': 0.1,
    '0.01': 0.01,
    '0.001': 0.001,
    '0.00125': 0.00125,
    '1.0e-4': 0.0001,
    '1.2e-4': 0.00012,
    '1.2e3': 1200,
    '1.25e5': 125_000,
    '123456.0': 123_456,
    '1.25e30': 1.25e30,
  };
  for (const [text, value] of Object.entries(printed)) expect(erlangFloat(value)).toBe(text);
});

it('bytes are printed as Erlang prints them', () => {
  expect(erlangBinary(Buffer.alloc(0))).toBe('<<>>');
  expect(erlangBinary(Buffer.from([0, 1, 255]))).toBe('<<0,1,255>>');
  expect(erlangBinary(Buffer.from('say "hi" \\'))).toBe('<<"say \\"hi\\" \\\\">>');
});
