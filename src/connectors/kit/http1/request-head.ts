/** Offsets kept of one field: start and end of its name, start and end of its value. */
const OFFSETS_PER_FIELD = 4;

/** Request line and fields of one request: the text as received, and where everything is in it. */
export class RequestHead {
  readonly method: string;
  /** Path and query; `*` for OPTIONS of the whole server. Of an absolute target, what comes after the authority. */
  readonly url: string;
  /** 0 or 1: the x of HTTP/1.x. */
  readonly minorVersion: number;
  readonly #text: string;
  readonly #fields: readonly number[];
  readonly #authority: string | undefined;

  constructor(parts: {
    readonly method: string;
    readonly target: string;
    readonly minorVersion: number;
    /** The whole head, one character a byte. */
    readonly text: string;
    readonly fields: readonly number[];
  }) {
    this.method = parts.method;
    this.minorVersion = parts.minorVersion;
    this.#text = parts.text;
    this.#fields = parts.fields;
    const { target } = parts;
    if (target.charCodeAt(0) === SLASH) {
      this.url = target;
      this.#authority = undefined;
    } else {
      const { authority, path } = splitAbsolute(target);
      this.url = path;
      this.#authority = authority;
    }
  }

  /** Value of the first field of this name, without white space around it. `name` is in lower case. */
  header(name: string): string | undefined {
    // The authority of an absolute target goes before Host (RFC 9112 section 3.2.2).
    if (this.#authority !== undefined && name === 'host') return this.#authority;
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += OFFSETS_PER_FIELD) {
      if (this.#isNamed(i, name)) return this.#text.slice(fields[i + 2], fields[i + 3]);
    }
    return undefined;
  }

  /** Values of all fields of this name, in order, with commas between them; undefined without any. */
  joined(name: string): string | undefined {
    const first = this.header(name);
    return first === undefined || this.count(name) <= 1 ? first : this.valuesOf(name).join(',');
  }

  /** Values of all fields of this name, in order and as received. */
  valuesOf(name: string): string[] {
    const found: string[] = [];
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += OFFSETS_PER_FIELD) {
      if (this.#isNamed(i, name)) found.push(this.#text.slice(fields[i + 2], fields[i + 3]));
    }
    return found;
  }

  /** All fields by name in lower case; values of one name are joined by commas, cookies by semicolons. */
  record(): Record<string, string> {
    const record = Object.create(null) as Record<string, string>;
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += OFFSETS_PER_FIELD) {
      const name = this.#text.slice(fields[i], fields[i + 1]).toLowerCase();
      const value = this.#text.slice(fields[i + 2], fields[i + 3]);
      const before = record[name];
      record[name] = before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
    }
    if (this.#authority !== undefined) record['host'] = this.#authority;
    return record;
  }

  /** How many fields have this name. */
  count(name: string): number {
    let count = 0;
    for (let i = 0; i < this.#fields.length; i += OFFSETS_PER_FIELD) if (this.#isNamed(i, name)) count++;
    return count;
  }

  #isNamed(at: number, name: string): boolean {
    const start = this.#fields[at] ?? 0;
    const size = (this.#fields[at + 1] ?? 0) - start;
    if (size !== name.length) return false;
    const text = this.#text;
    for (let i = 0; i < size; i++) {
      let code = text.charCodeAt(start + i);
      if (code >= UPPER_A && code <= UPPER_Z) code |= LOWER_BIT;
      if (code !== name.charCodeAt(i)) return false;
    }
    return true;
  }
}

const SLASH = 0x2f;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const LOWER_BIT = 0x20;

/** `http://authority/path?query` in its parts; anything else is left whole, without an authority. */
function splitAbsolute(target: string): { readonly authority: string | undefined; readonly path: string } {
  const match = /^https?:\/\/([^/?#]+)(.*)$/i.exec(target);
  if (match === null) return { authority: undefined, path: target };
  const rest = match[2] ?? '';
  return { authority: match[1], path: rest.startsWith('/') ? rest : `/${rest}` };
}
