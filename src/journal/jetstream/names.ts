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
  /** The id of a checkpoint's subject, or undefined. */
  checkpointOf(subject: string): string | undefined;
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
      const number = behind(`${base}.extent.`, subject);
      return number === undefined ? undefined : Number(number);
    },
    all: `${base}.>`,
    allCheckpoints: `${checkpoints}.>`,
    head: `${checkpoints}.head`,
    checkpoint: (id) => `${checkpoints}.data.${id}`,
    checkpointOf: (subject) => behind(`${checkpoints}.data.`, subject),
  };
}

function behind(begin: string, subject: string): string | undefined {
  return subject.startsWith(begin) ? subject.slice(begin.length) : undefined;
}
