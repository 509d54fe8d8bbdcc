import { status, type StatusCode } from '../kit/grpc-status.js';
import type { MetricFamily, MetricSample } from '../kit/connector.js';

/** Upper bounds of the duration histogram, in seconds. */
const BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

const CODE_NAMES: readonly string[] = Object.keys(status);

/** What became of the calls of one operation; plain numbers, counted as they end and read at scrape time. */
export class OperationFigures {
  readonly labels: Readonly<Record<string, string>>;
  /** By status code. */
  readonly ended = new Float64Array(CODE_NAMES.length);
  /** Calls by the first bound they were within; the last place is for longer ones. */
  readonly within = new Float64Array(BOUNDS.length + 1);
  seconds = 0;

  constructor(service: string, operation: string) {
    this.labels = { service, operation };
  }

  /** A call ended after `ms` milliseconds. */
  count(code: StatusCode, ms: number): void {
    const seconds = ms / 1000;
    this.ended[code] = (this.ended[code] ?? 0) + 1;
    this.seconds += seconds;
    let place = 0;
    while (place < BOUNDS.length && seconds > (BOUNDS[place] ?? 0)) place++;
    this.within[place] = (this.within[place] ?? 0) + 1;
  }
}

/** The figures of all operations, under the names that dashboards of the specification's broker know. */
export class AllOperationFigures {
  readonly #all = new Map<string, OperationFigures>();

  of(service: string, operation: string): OperationFigures {
    const key = `${service}.${operation}`;
    const known = this.#all.get(key);
    if (known !== undefined) return known;
    const figures = new OperationFigures(service, operation);
    this.#all.set(key, figures);
    return figures;
  }

  families(): readonly MetricFamily[] {
    const used = [...this.#all.values()].filter((figures) => figures.ended.some((count) => count > 0));
    return [
      {
        name: 'kubemq_pubsub_operations_total',
        help: 'Calls of the Pub/Sub API by the status they ended with.',
        type: 'counter',
        samples: used.flatMap(({ labels, ended }) =>
          [...ended].flatMap((value, code) =>
            value === 0 ? [] : [{ labels: { ...labels, status: CODE_NAMES[code] ?? '' }, value }],
          ),
        ),
      },
      {
        name: 'kubemq_pubsub_operation_duration_seconds',
        help: 'How long calls of the Pub/Sub API took.',
        type: 'histogram',
        samples: used.flatMap(histogram),
      },
    ];
  }
}

function histogram({ labels, within, seconds }: OperationFigures): MetricSample[] {
  let count = 0;
  const buckets = [...within].map((value, i) => {
    count += value;
    const le = i < BOUNDS.length ? String(BOUNDS[i]) : '+Inf';
    return { suffix: '_bucket', labels: { ...labels, le }, value: count };
  });
  return [...buckets, { suffix: '_sum', labels, value: seconds }, { suffix: '_count', labels, value: count }];
}
