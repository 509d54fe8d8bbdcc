import type { WholeRequest } from '../../kit/whole-request.js';
import type { Page } from '../rest/gateway.js';
import { TOKEN_ISSUER, type TokenSigner } from './token-signer.js';

const KEYS_PATH = '/oauth2/v3/certs';
const DISCOVERY_PATH = '/.well-known/openid-configuration';
const HEADERS = [
  'Content-Type',
  'application/json; charset=UTF-8',
  'Cache-Control',
  'public, max-age=300',
] as const;

/** The documents that verifiers of push tokens look at, on the port of the API. `scheme` is that of the listener. */
export function keyPages(signer: TokenSigner, scheme: 'http' | 'https'): ReadonlyMap<string, Page> {
  return new Map<string, Page>([
    [KEYS_PATH, async (exchange) => exchange.reply(200, HEADERS, JSON.stringify(await signer.keySet()))],
    [DISCOVERY_PATH, (exchange) => exchange.reply(200, HEADERS, JSON.stringify(discovery(exchange, scheme)))],
  ]);
}

/** OpenID Connect discovery: the issuer is the one that tokens name, the keys are here. */
function discovery(exchange: WholeRequest, scheme: string): Readonly<Record<string, unknown>> {
  const host = exchange.header('host') ?? 'localhost';
  return {
    issuer: TOKEN_ISSUER,
    jwks_uri: `${scheme}://${host}${KEYS_PATH}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    claims_supported: ['aud', 'azp', 'email', 'email_verified', 'exp', 'iat', 'iss', 'sub'],
  };
}
