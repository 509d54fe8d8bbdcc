import { BlockList, isIP } from 'node:net';

/** Which hosts may be called: what `parseAllowList` made of a setting's text. */
export interface AllowList {
  /** Whether a name may be called wherever it leads. */
  allowsName(host: string): boolean;
  /** Whether an address may be called. */
  allowsAddress(address: string): boolean;
  /** Loopback or private addresses are among those that may be called. */
  readonly reachesInside: boolean;
}

const LOOPBACK = ['127.0.0.0/8', '::1/128'];
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'];
/** Addresses that are nobody's host, or that answer for the machine itself: clouds keep credentials behind link-local ones. */
const SPECIAL = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '224.0.0.0/3',
  '::/128',
  'fe80::/10',
  'ff00::/8',
];
const NAME = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/**
 * Reads a list such as `public,hooks.example.com,*.corp.example,10.1.0.0/16`. Words: `public` (every address that is not
 * special, private or loopback), `private`, `loopback`, `*` (all of these three). Names allow whatever address they lead to.
 * Returns undefined when a part is none of these.
 */
export function parseAllowList(text: string): AllowList | undefined {
  const names = new Set<string>();
  const suffixes: string[] = [];
  const allowed = new BlockList();
  const words = new Set<string>();
  for (const raw of text.split(',')) {
    const part = raw.trim().toLowerCase();
    if (part === '') continue;
    if (part === 'public' || part === 'private' || part === 'loopback' || part === '*') words.add(part);
    else if (addNetwork(allowed, part)) continue;
    else if (!NAME.test(part)) return undefined;
    else if (part.startsWith('*.')) suffixes.push(part.slice(1));
    else names.add(part);
  }
  const all = words.has('*');
  const [loopback, inside, special] = [networks(LOOPBACK), networks(PRIVATE), networks(SPECIAL)];
  const kindOf = (address: string): 'loopback' | 'private' | 'special' | 'public' =>
    holds(loopback, address)
      ? 'loopback'
      : holds(inside, address)
        ? 'private'
        : holds(special, address)
          ? 'special'
          : 'public';
  return {
    allowsName: (host) => {
      const name = host.toLowerCase().replace(/\.$/, '');
      return names.has(name) || suffixes.some((suffix) => name.endsWith(suffix));
    },
    allowsAddress: (address) => {
      const plain = unmapped(address);
      if (isIP(plain) === 0) return false;
      if (holds(allowed, plain)) return true;
      const kind = kindOf(plain);
      return kind !== 'special' && (all || words.has(kind));
    },
    reachesInside: all || words.has('private') || words.has('loopback'),
  };
}

function networks(list: readonly string[]): BlockList {
  const out = new BlockList();
  for (const network of list) addNetwork(out, network);
  return out;
}

/** Adds an address or a network in CIDR form; false when it is neither. */
function addNetwork(list: BlockList, text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  const type = version === 6 ? 'ipv6' : 'ipv4';
  if (bits === undefined) {
    list.addAddress(address, type);
    return true;
  }
  if (!/^\d{1,3}$/.test(bits) || Number(bits) > (version === 6 ? 128 : 32)) return false;
  list.addSubnet(address, Number(bits), type);
  return true;
}

function holds(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** `::ffff:10.0.0.1` is 10.0.0.1, however it is written. */
function unmapped(address: string): string {
  if (isIP(address) !== 6) return address;
  const { hostname } = new URL(`http://[${address.split('%')[0] ?? ''}]`);
  const mapped = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname);
  if (mapped === null) return address;
  const [high, low] = [parseInt(mapped[1] ?? '0', 16), parseInt(mapped[2] ?? '0', 16)];
  return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
}
