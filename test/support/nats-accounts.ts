import { nkeys } from '@nats-io/transport-node';

type KeyPair = ReturnType<typeof nkeys.createUser>;

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A claim about `subject`, signed by `issuer`, as NATS's accounts are made of. */
function token(issuer: KeyPair, subject: KeyPair, nats: object): string {
  const text = `${encoded({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encoded({
    jti: subject.getPublicKey(),
    iat: 1_700_000_000,
    iss: issuer.getPublicKey(),
    name: 'test',
    sub: subject.getPublicKey(),
    nats: { ...nats, version: 2 },
  })}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString('base64url')}`;
}

const UNLIMITED = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  conn: -1,
  leaf: -1,
  mem_storage: -1,
  disk_storage: -1,
  streams: -1,
  consumer: -1,
};

export interface NatsOperator {
  /** Lines of a server's configuration. */
  readonly config: string;
  /** Text of a credentials file. */
  readonly credentials: string;
}

/** An operator with one account that has JetStream, and a user of it. */
export function createOperator(): NatsOperator {
  const operator = nkeys.createOperator();
  const [system, account, user] = [nkeys.createAccount(), nkeys.createAccount(), nkeys.createUser()];
  const { mem_storage, disk_storage, streams, consumer, ...plain } = UNLIMITED;
  const accounts = [
    [system, token(operator, system, { type: 'account', limits: plain })],
    [
      account,
      token(operator, account, {
        type: 'account',
        limits: { ...plain, mem_storage, disk_storage, streams, consumer },
      }),
    ],
  ] as const;
  const config = [
    `operator: ${token(operator, operator, { type: 'operator', system_account: system.getPublicKey() })}`,
    `system_account: ${system.getPublicKey()}`,
    'resolver: MEMORY',
    `resolver_preload: { ${accounts.map(([pair, jwt]) => `${pair.getPublicKey()}: ${jwt}`).join(', ')} }`,
  ].join('\n');
  const jwt = token(account, user, { type: 'user', subs: -1, data: -1, payload: -1, pub: {}, sub: {} });
  const seed = Buffer.from(user.getSeed()).toString();
  const credentials = [
    '-----BEGIN NATS USER JWT-----',
    jwt,
    '------END NATS USER JWT------',
    '',
    '-----BEGIN USER NKEY SEED-----',
    seed,
    '------END USER NKEY SEED------',
    '',
  ].join('\n');
  return { config, credentials };
}
