/** The words of a topic key or pattern. The empty text has none (measured: `*` does not match it, `#` does). */
export function wordsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split('.');
}

/** Whether a topic pattern matches a key: `*` is exactly one word (also an empty one), `#` any number of words. */
export function topicMatches(pattern: readonly string[], key: readonly string[]): boolean {
  // Greedy with one fallback: a later `#` makes earlier ones final, so it is linear but for the retries of one `#`.
  let p = 0;
  let k = 0;
  let retryPattern = -1;
  let retryKey = 0;
  while (k < key.length) {
    const word = pattern[p];
    if (word === '#') {
      retryPattern = ++p;
      retryKey = k;
    } else if (word !== undefined && (word === '*' || word === key[k])) {
      p++;
      k++;
    } else if (retryPattern >= 0) {
      p = retryPattern;
      k = ++retryKey;
    } else {
      return false;
    }
  }
  while (pattern[p] === '#') p++;
  return p === pattern.length;
}
