import { createSecretKey, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, beforeAll } from 'vitest';
import type { RunningBroker } from '../../../src/app/index.js';
import { temporaryFolder } from '../../support/folder.js';
import { startServer } from '../../support/server.js';

const SECRET = 'a secret that is long enough for every algorithm: 0123456789abcdef';

/** Alice works with everything called orders; Bob may only look at reports. `root` may do everything. */
export const POLICY = [
  {
    ClientID: 'root',
    Channel: '.*',
    Events: true,
    EventsStore: true,
    Queues: true,
    Commands: true,
    Queries: true,
    Read: true,
    Write: true,
  },
  {
    ClientID: 'alice',
    Channel: '(sqs|sns|gcp|gcp\\.sub|amqp\\.default|native)\\.orders.*',
    Events: true,
    EventsStore: true,
    Queues: true,
    Commands: true,
    Queries: true,
    Read: true,
    Write: true,
  },
  {
    ClientID: 'bob*',
    Channel: '.*reports',
    EventsStore: true,
    Queues: true,
    Events: true,
    Queries: true,
    Read: true,
  },
];

export function token(
  clientId: string,
  key: KeyObject = createSecretKey(Buffer.from(SECRET)),
  alg = 'HS256',
  exp = '1h',
): Promise<string> {
  return new SignJWT({ ClientID: clientId })
    .setProtectedHeader({ alg })
    .setIssuedAt()
    .setExpirationTime(exp)
    .sign(key);
}

/** A broker with tokens and rules, and tokens of those the rules name. */
export interface SecuredServer {
  readonly running: RunningBroker;
  readonly tokens: { readonly root: string; readonly alice: string; readonly bob: string };
  /** Other rules from now on. */
  replacePolicy(rules: readonly unknown[]): void;
}

/** For the tests of one file; gives it when they run. */
export function useSecuredServer(): () => SecuredServer {
  const folder = temporaryFolder();
  const policyFile = join(folder.path, 'policy.json');
  let server: SecuredServer | undefined;
  beforeAll(async () => {
    writeFileSync(policyFile, JSON.stringify(POLICY));
    const [root, alice, bob] = await Promise.all([token('root'), token('alice'), token('bob-1')]);
    const running = await startSecured(policyFile);
    const replacePolicy = (rules: readonly unknown[]): void => {
      writeFileSync(policyFile, JSON.stringify(rules));
      running.reload();
    };
    server = { running, tokens: { root, alice, bob }, replacePolicy };
  });
  afterAll(async () => {
    await server?.running.stop();
    folder.remove();
  });
  return () => {
    if (server === undefined) throw new Error('the broker did not start');
    return server;
  };
}

function startSecured(policyFile: string): Promise<RunningBroker> {
  return startServer({
    config: {
      authentication: { enable: true, jwtConfig: { key: SECRET } },
      authorization: { enable: true, filePath: policyFile, autoReload: 0 },
      connectors: {
        aws: {
          credentials: ['root', 'alice', 'bob-1'].map((accessKeyId) => ({
            accessKeyId,
            secretAccessKey: 'secret',
          })),
        },
      },
    },
  });
}

/** The error of a call that must be refused. */
export const denied = (
  call: Promise<unknown>,
): Promise<{ readonly name: string; readonly message: string }> =>
  call.then(
    () => Promise.reject(new Error('it was allowed')),
    (error: unknown) => error as Error,
  );
