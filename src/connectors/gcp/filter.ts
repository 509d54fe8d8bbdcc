import { invalidArgument } from './errors.js';
import { GCP_LIMITS } from './config.js';

/**
 * Subscription filters (Google's filter language, over attributes only):
 *
 *     expr      = term { "AND" term } | term { "OR" term }     mixing both needs parentheses
 *     term      = [ "NOT" | "-" ] ( "(" expr ")" | predicate )
 *     predicate = "attributes" ":" key
 *               | "attributes" "." key ( "=" | "!=" ) string
 *               | "hasPrefix" "(" "attributes" "." key "," string ")"
 *
 * Keys are bare words or quoted strings; strings are double-quoted. Operators are upper-case.
 */
export type AttributeFilter = (attributes: ReadonlyMap<string, string>) => boolean;

/** Parentheses and negations inside each other; keeps the parser's own stack small. */
const DEPTH_MAX = 64;

/** Compiles a filter; '' matches everything. Throws `invalid-argument`. */
export function compileFilter(text: string): AttributeFilter {
  if (Buffer.byteLength(text) > GCP_LIMITS.filterBytesMax) {
    throw invalidArgument(`The filter is too long: at most ${GCP_LIMITS.filterBytesMax} bytes are allowed.`);
  }
  if (text.trim() === '') return () => true;
  const parser = new Parser(tokensOf(text));
  const filter = parser.expression(0);
  parser.end();
  return filter;
}

interface Token {
  readonly kind: 'word' | 'string' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
}

const TOKEN = /\s*(?:([A-Za-z0-9_][A-Za-z0-9_-]*)|("(?:[^"\\\n]|\\.)*")|(!=|[-=:.,()]))/y;

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  let at = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const [, word, quoted, symbol] = match;
    if (word !== undefined) tokens.push({ kind: 'word', text: word, at });
    else if (quoted !== undefined) tokens.push({ kind: 'string', text: unquoted(quoted, at), at });
    else tokens.push({ kind: 'symbol', text: symbol ?? '', at });
    at = TOKEN.lastIndex;
  }
  if (text.slice(at).trim() !== '') throw syntaxError(at);
  tokens.push({ kind: 'end', text: '', at: text.length });
  return tokens;
}

const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gs;
const PLAIN_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\',
  '"': '"',
  "'": "'",
  '?': '?',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

function unquoted(quoted: string, at: number): string {
  return quoted.slice(1, -1).replace(ESCAPE, (...groups: unknown[]) => {
    const [, hex, short, long, octal, char] = groups as (string | undefined)[];
    const digits = hex ?? short ?? long;
    if (digits !== undefined) return codePoint(parseInt(digits, 16), at);
    if (octal !== undefined) return codePoint(parseInt(octal, 8), at);
    const plain = PLAIN_ESCAPES[char ?? ''];
    if (plain === undefined) throw syntaxError(at);
    return plain;
  });
}

function codePoint(value: number, at: number): string {
  if (value > 0x10ffff) throw syntaxError(at);
  return String.fromCodePoint(value);
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  expression(depth: number): AttributeFilter {
    const terms = [this.#term(depth)];
    const operator = this.#peek();
    if (!isWord(operator, 'AND') && !isWord(operator, 'OR')) return terms[0] as AttributeFilter;
    while (isWord(this.#peek(), operator.text)) {
      this.#next++;
      terms.push(this.#term(depth));
    }
    if (isWord(this.#peek(), 'AND') || isWord(this.#peek(), 'OR')) throw syntaxError(this.#peek().at);
    return operator.text === 'AND'
      ? (attributes) => terms.every((term) => term(attributes))
      : (attributes) => terms.some((term) => term(attributes));
  }

  end(): void {
    if (this.#peek().kind !== 'end') throw syntaxError(this.#peek().at);
  }

  #term(depth: number): AttributeFilter {
    if (depth > DEPTH_MAX) throw syntaxError(this.#peek().at);
    const token = this.#peek();
    if (isWord(token, 'NOT') || isSymbol(token, '-')) {
      this.#next++;
      const negated = this.#term(depth + 1);
      return (attributes) => !negated(attributes);
    }
    if (isSymbol(token, '(')) {
      this.#next++;
      const inner = this.expression(depth + 1);
      this.#symbol(')');
      return inner;
    }
    return this.#predicate();
  }

  #predicate(): AttributeFilter {
    const word = this.#take();
    if (isWord(word, 'hasPrefix')) {
      this.#symbol('(');
      this.#attributes();
      this.#symbol('.');
      const key = this.#key();
      this.#symbol(',');
      const prefix = this.#string();
      this.#symbol(')');
      return (attributes) => attributes.get(key)?.startsWith(prefix) ?? false;
    }
    if (!isWord(word, 'attributes')) throw syntaxError(word.at);
    const operator = this.#take();
    if (isSymbol(operator, ':')) {
      const present = this.#key();
      return (attributes) => attributes.has(present);
    }
    if (!isSymbol(operator, '.')) throw syntaxError(operator.at);
    const key = this.#key();
    const comparison = this.#take();
    if (isSymbol(comparison, '=')) {
      const wanted = this.#string();
      return (attributes) => attributes.get(key) === wanted;
    }
    if (!isSymbol(comparison, '!=')) throw syntaxError(comparison.at);
    const unwanted = this.#string();
    return (attributes) => attributes.get(key) !== unwanted;
  }

  #attributes(): void {
    const token = this.#take();
    if (!isWord(token, 'attributes')) throw syntaxError(token.at);
  }

  #key(): string {
    const token = this.#take();
    if (token.kind !== 'word' && token.kind !== 'string') throw syntaxError(token.at);
    return token.text;
  }

  #string(): string {
    const token = this.#take();
    if (token.kind !== 'string') throw syntaxError(token.at);
    return token.text;
  }

  #symbol(text: string): void {
    const token = this.#take();
    if (!isSymbol(token, text)) throw syntaxError(token.at);
  }

  #peek(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #take(): Token {
    const token = this.#peek();
    if (token.kind !== 'end') this.#next++;
    return token;
  }
}

function isWord(token: Token, text: string): boolean {
  return token.kind === 'word' && token.text === text;
}

function isSymbol(token: Token, text: string): boolean {
  return token.kind === 'symbol' && token.text === text;
}

function syntaxError(at: number): Error {
  return invalidArgument(`Invalid filter: syntax error at offset ${at}.`);
}
