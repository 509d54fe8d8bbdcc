import { describe, expect, it } from 'vitest';
import { fromBase64, isLegalId, isLegalText } from './text.js';

describe('legal text', () => {
  it.each([' ', '\t\n\r', 'ü😀\ud7ff\ue000\ufffd', '\u007f'])('passes %j', (text) => {
    expect(isLegalText(text)).toBe(true);
  });
  it.each(['\u0000', 'a\u000b', '\u001f', '\ufffe', '\uffff', '\ud800', 'x\udc00y'])('refuses %j', (text) => {
    expect(isLegalText(text)).toBe(false);
  });
});

describe('ids', () => {
  it('are 1 to 128 letters, digits and punctuation', () => {
    expect(isLegalId('aZ9!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~')).toBe(true);
    expect(isLegalId('x'.repeat(128))).toBe(true);
    for (const bad of ['', 'x'.repeat(129), 'a b', 'ü', 'a\n']) expect(isLegalId(bad)).toBe(false);
  });
});

describe('base64', () => {
  it('is strict about its letters', () => {
    expect(fromBase64('AAE=')).toEqual(Buffer.from([0, 1]));
    expect(fromBase64('AAE')).toEqual(Buffer.from([0, 1]));
    for (const bad of ['A', 'AA-_', 'AA E=', 'AAE==']) expect(fromBase64(bad)).toBeUndefined();
  });
});
