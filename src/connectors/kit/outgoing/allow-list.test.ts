import { describe, expect, it } from 'vitest';
import { parseAllowList } from './allow-list.js';

function allows(list: string, address: string): boolean {
  return parseAllowList(list)?.allowsAddress(address) ?? false;
}

describe('an allow-list', () => {
  it.each([
    ['public', '93.184.216.34', true],
    ['public', '10.0.0.1', false],
    ['public', '127.0.0.1', false],
    ['public', '2606:2800:220:1::1', true],
    ['public', 'fc00::1', false],
    ['public', '::1', false],
    ['private', '192.168.1.1', true],
    ['private', '93.184.216.34', false],
    ['loopback', '127.8.8.8', true],
    ['loopback', '::1', true],
    ['*', '10.0.0.1', true],
    // Where clouds keep credentials: never by a word.
    ['*', '169.254.169.254', false],
    ['*', 'fe80::1', false],
    ['*', '0.0.0.0', false],
    ['169.254.0.0/16', '169.254.169.254', true],
    ['10.1.0.0/16', '10.1.2.3', true],
    ['10.1.0.0/16', '10.2.0.0', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['2001:db8::/32', '2001:db8::5', true],
    // The same address in another dress.
    ['public', '::ffff:10.0.0.1', false],
    ['public', '::ffff:a00:1', false],
    ['loopback', '::ffff:127.0.0.1', true],
    ['public,loopback', '127.0.0.1', true],
    ['*', 'no address', false],
  ])('%s: %s', (list, address, expected) => {
    expect(allows(list, address)).toBe(expected);
  });

  it('names hosts, wherever they lead', () => {
    const list = parseAllowList('hooks.example.com, *.Corp.example');
    expect(list?.allowsName('hooks.example.com.')).toBe(true);
    expect(list?.allowsName('HOOKS.example.com')).toBe(true);
    expect(list?.allowsName('a.corp.example')).toBe(true);
    expect(list?.allowsName('corp.example')).toBe(false);
    expect(list?.allowsName('evilcorp.example')).toBe(false);
    expect(list?.allowsAddress('93.184.216.34')).toBe(false);
  });

  it('says whether it reaches inside', () => {
    expect(parseAllowList('public')?.reachesInside).toBe(false);
    expect(parseAllowList('public,loopback')?.reachesInside).toBe(true);
    expect(parseAllowList('')?.reachesInside).toBe(false);
  });

  it.each(['10.0.0.0/33', 'a b', 'http://host', '10.0.0.0/8/8', '*.'])('is not %j', (text) => {
    expect(parseAllowList(text)).toBeUndefined();
  });
});
