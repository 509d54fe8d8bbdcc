import type { AwsConfig } from './config.js';

/** Where the connector is, as far as it knows itself. */
export interface OwnPlace {
  readonly config: AwsConfig;
  readonly port: number;
  /** Every connection is encrypted. */
  readonly secure: boolean;
}

/** The request that is answered, as far as it shows where its client sees us. */
export interface Caller {
  /** A header by its name in lower case. */
  readonly header: (name: string) => string | undefined;
  /** It came over TLS. */
  readonly encrypted: boolean;
}

/**
 * Scheme, host and port that URLs in answers begin with: the advertised ones, else those the client used, so that the
 * URL works where the client is. A proxy that ends TLS says so in `X-Forwarded-Proto`.
 */
export function originOf({ config, port, secure }: OwnPlace, caller?: Caller): string {
  if (config.advertisedUrl !== '') return config.advertisedUrl.replace(/\/+$/, '');
  const host = caller?.header('host') ?? '';
  const isSecure =
    caller === undefined
      ? secure
      : caller.encrypted || caller.header('x-forwarded-proto')?.toLowerCase() === 'https';
  return `http${isSecure ? 's' : ''}://${host === '' ? `localhost:${port}` : host}`;
}

/** URL of a queue: `{scheme}://{host}/{account}/{name}`. */
export function queueUrl(origin: string, config: AwsConfig, name: string): string {
  return `${origin}/${config.accountId}/${name}`;
}
