import type { AwsConfig } from './config.js';

/** Where the connector is, as far as it knows itself. */
export interface OwnPlace {
  readonly config: AwsConfig;
  readonly port: number;
  /** Every connection is encrypted. */
  readonly secure: boolean;
}

/**
 * Scheme, host and port that URLs in answers begin with: the advertised ones, else those the client used, so that the
 * URL works where the client is. `header` reads the request's; a proxy that ends TLS says so in `X-Forwarded-Proto`.
 */
export function originOf(
  { config, port, secure }: OwnPlace,
  header?: (name: string) => string | undefined,
): string {
  if (config.advertisedUrl !== '') return config.advertisedUrl.replace(/\/+$/, '');
  const host = header?.('host') ?? '';
  const isSecure = secure || header?.('x-forwarded-proto')?.toLowerCase() === 'https';
  return `http${isSecure ? 's' : ''}://${host === '' ? `localhost:${port}` : host}`;
}

/** URL of a queue: `{scheme}://{host}/{account}/{name}`. */
export function queueUrl(origin: string, config: AwsConfig, name: string): string {
  return `${origin}/${config.accountId}/${name}`;
}
