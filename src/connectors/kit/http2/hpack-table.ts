/** RFC 7541, appendix A: names and values, alternately, from index 1 on. */
const STATIC_FIELDS: readonly string[] = [
  ':authority', '', ':method', 'GET', ':method', 'POST', ':path', '/', ':path', '/index.html', ':scheme', 'http',
  ':scheme', 'https', ':status', '200', ':status', '204', ':status', '206', ':status', '304', ':status', '400',
  ':status', '404', ':status', '500', 'accept-charset', '', 'accept-encoding', 'gzip, deflate',
  'accept-language', '', 'accept-ranges', '', 'accept', '', 'access-control-allow-origin', '', 'age', '',
  'allow', '', 'authorization', '', 'cache-control', '', 'content-disposition', '', 'content-encoding', '',
  'content-language', '', 'content-length', '', 'content-location', '', 'content-range', '', 'content-type', '',
  'cookie', '', 'date', '', 'etag', '', 'expect', '', 'expires', '', 'from', '', 'host', '', 'if-match', '',
  'if-modified-since', '', 'if-none-match', '', 'if-range', '', 'if-unmodified-since', '', 'last-modified', '',
  'link', '', 'location', '', 'max-forwards', '', 'proxy-authenticate', '', 'proxy-authorization', '',
  'range', '', 'referer', '', 'refresh', '', 'retry-after', '', 'server', '', 'set-cookie', '',
  'strict-transport-security', '', 'transfer-encoding', '', 'user-agent', '', 'vary', '', 'via', '',
  'www-authenticate', '',
]; // prettier-ignore

const STATIC_COUNT = STATIC_FIELDS.length / 2;

/** What RFC 7541, section 4.1 adds to the length of a field. */
export const FIELD_OVERHEAD_BYTES = 32;

/** The fields a header block can point at: the static ones, then those that blocks before have added, newest first. */
export class HeaderTable {
  /** Ring of names and values, alternately. */
  #fields: string[] = [];
  #first = 0;
  #size = 0;
  #sizeMax: number;
  /** How often the table was changed. */
  changes = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  name(index: number): string | undefined {
    if (index <= STATIC_COUNT) return STATIC_FIELDS[index * 2 - 2];
    return this.#fields[this.#slot(index)];
  }

  value(index: number): string | undefined {
    if (index <= STATIC_COUNT) return STATIC_FIELDS[index * 2 - 1];
    return this.#fields[this.#slot(index) + 1];
  }

  add(name: string, value: string): void {
    this.changes++;
    const size = name.length + value.length + FIELD_OVERHEAD_BYTES;
    this.#dropTo(this.#sizeMax - size);
    if (size > this.#sizeMax) return;
    this.#fields.push(name, value);
    this.#size += size;
  }

  resize(sizeMax: number): void {
    this.changes++;
    this.#sizeMax = sizeMax;
    this.#dropTo(sizeMax);
  }

  #slot(index: number): number {
    const slot = this.#fields.length - (index - STATIC_COUNT) * 2;
    return slot < this.#first ? -2 : slot;
  }

  #dropTo(size: number): void {
    while (this.#size > size && this.#first < this.#fields.length) {
      const name = this.#fields[this.#first] ?? '';
      const value = this.#fields[this.#first + 1] ?? '';
      this.#first += 2;
      this.#size -= name.length + value.length + FIELD_OVERHEAD_BYTES;
    }
    // What was dropped is cut off now and then, not each time.
    if (this.#first >= 64 && this.#first * 2 >= this.#fields.length) {
      this.#fields = this.#fields.slice(this.#first);
      this.#first = 0;
    }
  }
}
