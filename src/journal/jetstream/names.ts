/** Names in NATS of one journal: a stream for the log, one for its checkpoints. */
export interface JournalNames {
  readonly stream: string;
  readonly checkpoints: string;
  /** Subject of the marks of writers. */
  readonly mark: string;
  /** Subject of an extent's messages. */
  extent(number: number): string;
  /** The extent of a subject, or undefined. */
  extentOf(subject: string): number | undefined;
  /** All subjects of the log. */
  readonly all: string;
  readonly allCheckpoints: string;
  readonly head: string;
  checkpoint(id: string): string;
}

/** `prefix`: letters, digits, `-` and `_`; one a cluster. */
export function journalNames(prefix: string, partition: number): JournalNames {
  const base = `${prefix}.journal.${partition}`;
  const checkpoints = `${prefix}.checkpoint.${partition}`;
  return {
    stream: `${prefix}-journal-${partition}`,
    checkpoints: `${prefix}-checkpoint-${partition}`,
    mark: `${base}.mark`,
    extent: (number) => `${base}.extent.${number}`,
    extentOf: (subject) => {
      const begin = `${base}.extent.`;
      return subject.startsWith(begin) ? Number(subject.slice(begin.length)) : undefined;
    },
    all: `${base}.>`,
    allCheckpoints: `${checkpoints}.>`,
    head: `${checkpoints}.head`,
    checkpoint: (id) => `${checkpoints}.data.${id}`,
  };
}
