import type { Log } from '../../base/log.js';
import type { Address } from '../../connectors/kit/connector.js';
import type { Readiness } from '../health.js';
import type { Metrics } from '../metrics.js';

export interface ProbeOptions {
  readonly metrics: Pick<Metrics, 'contentType' | 'render'>;
  readonly readiness: () => Readiness;
  readonly addresses: () => readonly Address[];
  readonly log: Log;
  readonly version: string;
}

export interface ProbeAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** What everybody may ask, and orchestrators ask all the time: whether the broker lives, and its figures. Undefined: it is something else. */
export function answerProbe(options: ProbeOptions, path: string): ProbeAnswer | undefined {
  switch (path) {
    case '/health':
      return json(200, { status: 'healthy', version: options.version });
    case '/ready': {
      const state = options.readiness();
      return json(state.ready ? 200 : 503, { ...state, addresses: options.addresses() });
    }
    case '/metrics':
      return metrics(options);
    default:
      return undefined;
  }
}

function metrics({ metrics: { contentType, render }, log }: ProbeOptions): ProbeAnswer {
  try {
    return { status: 200, type: contentType, body: render() };
  } catch (error) {
    log.error('the metrics cannot be read', { error });
    return json(500, { error: 'internal', message: 'internal error' });
  }
}

function json(status: number, body: unknown): ProbeAnswer {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(body) };
}
