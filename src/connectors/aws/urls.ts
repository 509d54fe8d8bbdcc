import type { AwsConfig } from './config.js';

/**
 * Scheme, host and port that URLs in answers begin with: the advertised ones, else those the client used, so that the
 * URL works where the client is.
 */
export function originOf(config: AwsConfig, host: string | undefined, port: number): string {
  if (config.advertisedUrl !== '') return config.advertisedUrl.replace(/\/+$/, '');
  return `http://${host === undefined || host === '' ? `localhost:${port}` : host}`;
}

/** URL of a queue: `{scheme}://{host}/{account}/{name}`. */
export function queueUrl(origin: string, config: AwsConfig, name: string): string {
  return `${origin}/${config.accountId}/${name}`;
}
