import { z } from 'zod';

const seconds = (what: string) => z.number().int().min(0).max(86_400).default(30).describe(what);
const file = (what: string) => z.string().default('').describe(what);

/** Settings of TLS on every listener: `SECURITY_…`. */
export const securitySettings = z.object({
  certFilename: file(
    'PEM file with the certificate (chain) of every listener. With a key, all listeners speak TLS 1.2 or newer.',
  ),
  certData: file('The same as PEM text or its base64, instead of a file.'),
  keyFilename: file('PEM file with the private key.'),
  keyData: file('The same as PEM text or its base64.').meta({ secret: true }),
  caFilename: file(
    'PEM file with the authorities of client certificates. With it, clients are asked for one (mTLS).',
  ),
  caData: file('The same as PEM text or its base64.'),
  clientCert: z
    .enum(['required', 'optional'])
    .default('required')
    .describe('With authorities: whether clients without a certificate of theirs are refused.'),
  certIdentity: z
    .boolean()
    .default(true)
    .describe("The common name of a client's certificate is its ClientID, unless it shows a token."),
  allowPlain: z
    .boolean()
    .default(false)
    .describe('With TLS: clients without it are served on the same ports, and AMQP keeps its plain port.'),
  autoReload: seconds(
    'How often certificate and token key files are looked at for changes, in seconds; 0 = on SIGHUP only.',
  ),
});

/** Settings of who clients are: `AUTHENTICATION_…`. */
export const authenticationSettings = z.object({
  enable: z
    .boolean()
    .default(false)
    .describe(
      'Clients must show a token (JWT) or a client certificate; AWS clients sign with their credentials.',
    ),
  jwtConfig: z.object({
    key: file(
      'What tokens are verified with: the shared secret (HS…), or a PEM public key or certificate.',
    ).meta({
      secret: true,
    }),
    filePath: file('File with the key, instead of `AUTHENTICATION_JWT_CONFIG_KEY`.'),
    signatureType: z
      .enum(['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512'])
      .default('HS256')
      .describe('The one algorithm that tokens may be signed with.'),
    claim: z.string().min(1).default('ClientID').describe('The claim of a token that is the ClientID.'),
  }),
});

/** Settings of what clients may do: `AUTHORIZATION_…`. */
export const authorizationSettings = z.object({
  enable: z.boolean().default(false).describe('Clients may do only what a rule of the policy allows.'),
  policyData: file('The policy: rules as a JSON array. See docs/operations.md.'),
  filePath: file('File with the policy (JSON or YAML), instead of `AUTHORIZATION_POLICY_DATA`.'),
  autoReload: seconds('How often the policy file is looked at for changes, in seconds; 0 = on SIGHUP only.'),
});

export type SecurityConfig = z.output<typeof securitySettings>;
export type AuthenticationConfig = z.output<typeof authenticationSettings>;
export type AuthorizationConfig = z.output<typeof authorizationSettings>;
