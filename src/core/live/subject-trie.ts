import { channelNameFault } from '../channel-name.js';

const ONE = '*';
const REST = '>';

class Node<T> {
  /** By token; `*` has a place of its own. */
  children: Map<string, Node<T>> | undefined;
  one: Node<T> | undefined;
  /** Values of patterns that end here, and of those that end in `>` behind here. */
  values: Set<T> | undefined;
  rest: Set<T> | undefined;

  get isEmpty(): boolean {
    return (
      this.values === undefined &&
      this.rest === undefined &&
      this.one === undefined &&
      this.children === undefined
    );
  }
}

/**
 * Values under patterns of `.`-separated tokens: `*` matches one token, `>` as the last one matches one or more. Finding
 * costs as many steps as the subject has tokens, times the wildcards on the way, however many patterns there are.
 */
export class SubjectTrie<T> {
  readonly #root = new Node<T>();

  add(pattern: string, value: T): void {
    let node = this.#root;
    const tokens = pattern.split('.');
    const last = tokens.length - 1;
    for (const [place, token] of tokens.entries()) {
      if (token === REST && place === last) {
        (node.rest ??= new Set()).add(value);
        return;
      }
      node = token === ONE ? (node.one ??= new Node()) : childOf(node, token);
    }
    (node.values ??= new Set()).add(value);
  }

  /** Fine when it is not there. */
  remove(pattern: string, value: T): void {
    remove(this.#root, pattern.split('.'), 0, value);
  }

  /** Visits each value whose pattern matches, once a pattern. */
  match(subject: string, visit: (value: T) => void): void {
    match(this.#root, subject.split('.'), 0, visit);
  }
}

function childOf<T>(node: Node<T>, token: string): Node<T> {
  const children = (node.children ??= new Map<string, Node<T>>());
  let child = children.get(token);
  if (child === undefined) children.set(token, (child = new Node()));
  return child;
}

function remove<T>(node: Node<T>, tokens: readonly string[], at: number, value: T): void {
  const token = tokens[at];
  if (token === undefined) {
    node.values?.delete(value);
    if (node.values?.size === 0) node.values = undefined;
  } else if (token === REST && at === tokens.length - 1) {
    node.rest?.delete(value);
    if (node.rest?.size === 0) node.rest = undefined;
  } else if (token === ONE) {
    if (node.one === undefined) return;
    remove(node.one, tokens, at + 1, value);
    if (node.one.isEmpty) node.one = undefined;
  } else {
    const child = node.children?.get(token);
    if (child === undefined) return;
    remove(child, tokens, at + 1, value);
    if (child.isEmpty) node.children?.delete(token);
    if (node.children?.size === 0) node.children = undefined;
  }
}

function match<T>(node: Node<T>, tokens: readonly string[], at: number, visit: (value: T) => void): void {
  const token = tokens[at];
  if (token === undefined) {
    if (node.values !== undefined) for (const value of node.values) visit(value);
    return;
  }
  if (node.rest !== undefined) for (const value of node.rest) visit(value);
  const child = node.children?.get(token);
  if (child !== undefined) match(child, tokens, at + 1, visit);
  if (node.one !== undefined) match(node.one, tokens, at + 1, visit);
}

/** Whether a pattern has wildcards. */
export function isWild(pattern: string): boolean {
  return /[*>]/.test(pattern);
}

/** Why `pattern` is none, or undefined when it is one: wildcards must be whole tokens, and `>` the last. */
export function patternFault(pattern: string): string | undefined {
  const tokens = pattern.split('.');
  for (const [place, token] of tokens.entries()) {
    const isWhole = token === ONE || (token === REST && place === tokens.length - 1);
    if (!isWhole && isWild(token)) return 'wildcards must be whole tokens, and ">" the last one';
  }
  return channelNameFault(pattern.replace(/[*>]/g, 'x'));
}
