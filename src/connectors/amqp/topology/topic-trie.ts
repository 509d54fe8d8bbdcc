import type { Binding } from './types.js';

/** The words of a topic key or pattern. The empty text has none (measured: `*` does not match it, `#` does). */
function wordsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split('.');
}

/** A place in the trie of patterns: the words that led here. */
class Node {
  readonly id: number;
  readonly children = new Map<string, Node>();
  readonly bindings = new Set<Binding>();

  constructor(id: number) {
    this.id = id;
  }

  get empty(): boolean {
    return this.children.size === 0 && this.bindings.size === 0;
  }
}

/**
 * Bindings of a topic exchange by the words of their patterns: `*` is exactly one word (also an empty one), `#` any number of
 * words. A look costs what matches, not what is bound.
 */
export class TopicTrie {
  #ids = 0;
  readonly #root = this.#node();

  #node(): Node {
    return new Node(this.#ids++);
  }

  add(binding: Binding): void {
    let node = this.#root;
    for (const word of wordsOf(binding.routingKey)) {
      let child = node.children.get(word);
      if (child === undefined) node.children.set(word, (child = this.#node()));
      node = child;
    }
    node.bindings.add(binding);
  }

  remove(binding: Binding): void {
    const path: (readonly [Node, string])[] = [];
    let node: Node | undefined = this.#root;
    for (const word of wordsOf(binding.routingKey)) {
      path.push([node, word]);
      node = node.children.get(word);
      if (node === undefined) return;
    }
    node.bindings.delete(binding);
    for (const [parent, word] of path.reverse()) {
      if (parent.children.get(word)?.empty !== true) return;
      parent.children.delete(word);
    }
  }

  /** The bindings whose pattern matches `key`. */
  match(key: string): Iterable<Binding> {
    const words = wordsOf(key);
    const found = new Set<Binding>();
    // What `#` has tried: patterns with several of them would else be walked again and again.
    const tried = new Set<number>();
    const walk = (node: Node, at: number): void => {
      const word = words[at];
      if (word === undefined) {
        for (const binding of node.bindings) found.add(binding);
      } else {
        // In keys these two are words like any other, and reach no pattern of their own name.
        const child = word === '*' || word === '#' ? undefined : node.children.get(word);
        if (child !== undefined) walk(child, at + 1);
        const star = node.children.get('*');
        if (star !== undefined) walk(star, at + 1);
      }
      const rest = node.children.get('#');
      if (rest === undefined) return;
      for (let from = at; from <= words.length; from++) {
        const state = rest.id * (words.length + 1) + from;
        if (tried.has(state)) continue;
        tried.add(state);
        walk(rest, from);
      }
    };
    walk(this.#root, 0);
    return found;
  }
}
