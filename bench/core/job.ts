import type { Row } from '../harness/report.js';

/** What the core worker is told, as one JSON argument. */
export interface CoreJob {
  readonly measure: string;
  /** An empty folder on the disk to measure. */
  readonly folder: string;
  readonly seconds: number;
  readonly runs: number;
}

/** One line of the table, without its id. */
export type CoreFigure = Omit<Row, 'id'>;

export type CoreMeasure = (job: CoreJob) => Promise<readonly CoreFigure[]>;
