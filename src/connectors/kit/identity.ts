import { BrokerError } from '../../core/errors.js';

/** Finds out who stands behind a token. */
export interface Identity {
  /** True: every connection or call must show who it is. */
  readonly required: boolean;
  /** The client id in a token that was verified before and is still good. */
  known(token: string): string | undefined;
  /** The client id in a token. Rejects with `unauthenticated`, without saying why. */
  verify(token: string): Promise<string>;
  /** Calls `over` once, when a token that was good is so no longer. Gives the way to forget it. */
  watch(token: string, over: () => void): () => void;
}

/** Nobody has to show who they are. */
export const NO_IDENTITY: Identity = {
  required: false,
  known: () => undefined,
  verify: () => Promise.reject(new BrokerError('unauthenticated', 'tokens are not looked at')),
  watch: () => () => undefined,
};

/** The token that a client is known by, if it is known by one: tokens are not looked at unless they are required. */
export function shownToken(identity: Identity, { authorization }: Shown): string | undefined {
  const token = identity.required ? tokenOf(authorization ?? '') : '';
  return token === '' ? undefined : token;
}

/**
 * Calls `over` with the refusal, once, when the token that a peer shows is good no longer; never when it shows none. Gives the
 * way to forget it. Whatever waits or lasts on behalf of a peer is watched so.
 */
export function watchShown(
  identity: Identity,
  shown: Shown,
  over: (refusal: BrokerError) => void,
): () => void {
  const token = shownToken(identity, shown);
  if (token === undefined) return () => undefined;
  return identity.watch(token, () => over(new BrokerError('unauthenticated', 'the token has ended')));
}

/** What a peer showed of itself. */
export interface Shown {
  /** The `authorization` header or metadata, as it came. */
  readonly authorization: string | undefined;
  /** The name in a client certificate that was checked. */
  readonly peerName: string | undefined;
}

/** The client id of peers that need not show who they are and do not say it either. */
export const ANONYMOUS = 'anonymous';

/** The token in an `authorization` header: alone, behind `Bearer`, or as the password of `Basic`. */
export function tokenOf(authorization: string): string {
  const [, scheme = '', rest = ''] = /^(bearer|basic) +(\S+)$/i.exec(authorization.trim()) ?? [];
  if (scheme.toLowerCase() === 'bearer') return rest;
  if (scheme.toLowerCase() === 'basic') {
    const login = Buffer.from(rest, 'base64').toString('utf8');
    return login.slice(login.indexOf(':') + 1);
  }
  return authorization.trim();
}

/**
 * The client id of a peer: its token's, else its certificate's; undefined when it shows nothing and need not. Tokens are
 * not looked at unless they are required. Throws, or rejects with, `unauthenticated`.
 */
export function clientIdOf(identity: Identity, shown: Shown): string | undefined | Promise<string> {
  const token = shownToken(identity, shown);
  if (token !== undefined) return identity.known(token) ?? identity.verify(token);
  if (!identity.required || shown.peerName !== undefined) return shown.peerName;
  throw new BrokerError('unauthenticated', 'a token is needed');
}
