import { SNSClient } from '@aws-sdk/client-sns';
import { Agent, get, globalAgent } from 'node:https';
// @ts-expect-error -- it brings no types
import MessageValidator from 'sns-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningBroker } from '../../../src/app/index.js';
import { TestAuthority, writePems } from '../../support/certificates.js';
import { temporaryFolder } from '../../support/folder.js';
import { startServer } from '../../support/server.js';
import { CREDENTIALS } from './aws-server.js';
import { Hook, Topics } from './sns-rig.js';

type Validate = (message: Record<string, unknown>, done: (error: Error | null) => void) => void;
const Validator = MessageValidator as new (host?: RegExp) => { validate: Validate };

const folder = temporaryFolder();
const trusted = globalAgent.options.ca;
let running: RunningBroker;
let sns: SNSClient;
let topics: Topics;

// Amazon's validator fetches the certificate over https only, and from hosts of a pattern: both are the operator's to give.
beforeAll(async () => {
  const authority = await TestAuthority.create();
  const own = await authority.server();
  const files = writePems(folder.path, { certificate: own.certificate, key: own.key });
  running = await startServer({
    connectors: ['aws'],
    config: { security: { certFilename: files.certificate, keyFilename: files.key } },
  });
  globalAgent.options.ca = authority.certificate;
  sns = new SNSClient({
    endpoint: `https://localhost:${running.address('aws').port}`,
    region: 'us-east-1',
    credentials: CREDENTIALS,
    requestHandler: { httpsAgent: new Agent({ ca: authority.certificate }) },
  });
  topics = new Topics({ sns });
});
afterAll(async () => {
  globalAgent.options.ca = trusted;
  sns.destroy();
  await running.stop();
  folder.remove();
});

function validated(message: Record<string, unknown>): Promise<string> {
  const validator = new Validator(/^localhost:\d+$/);
  return new Promise((resolve) => {
    validator.validate({ ...message }, (error) => resolve(error === null ? 'valid' : error.message));
  });
}

/** Status of a GET that trusts what the validator trusts. */
function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
    }).on('error', reject);
  });
}

describe("Amazon's sns-validator", () => {
  it.each(['1', '2'])(
    'accepts what is signed in version %s, and nothing forged',
    async (SignatureVersion) => {
      const hook = await Hook.start();
      try {
        const topic = await topics.create({ SignatureVersion });
        await topics.subscribe(topic, hook.url);
        const asked = JSON.parse((await hook.post(1)).body) as Record<string, unknown>;
        expect(await validated(asked)).toBe('valid');
        expect(await validated({ ...asked, SubscribeURL: 'https://elsewhere/' })).toContain('invalid');
        expect(await statusOf(String(asked['SubscribeURL']))).toBe(200);
        await topics.publish(topic, 'news "<ü>"', { Subject: 'S' });
        const notification = JSON.parse((await hook.post(2)).body) as Record<string, unknown>;
        expect(await validated(notification)).toBe('valid');
        expect(await validated({ ...notification, Message: 'forged' })).toContain('invalid');
      } finally {
        await hook.stop();
      }
    },
  );
});
