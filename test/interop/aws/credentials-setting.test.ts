import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { readConfig } from '../../../src/app/read-config.js';
import { refusal, startAwsServer } from './aws-server.js';

it('several pairs of CONNECTORS_AWS_CREDENTIALS come in, each with its own secret alone', async () => {
  const environment = { CONNECTORS_AWS_CREDENTIALS: 'AKIDONE=first=/+,AKIDTWO=second' };
  const { config } = await readConfig({ environment, flags: new Map(), all: false });
  const { credentials } = config.connectors.aws;
  const server = await startAwsServer({ config: { credentials } });
  const as = (accessKeyId: string, secretAccessKey: string): SQSClient =>
    new SQSClient({
      endpoint: server.url,
      region: 'us-east-1',
      credentials: { accessKeyId, secretAccessKey },
      maxAttempts: 1,
    });
  const list = new ListQueuesCommand({});
  try {
    for (const client of [as('AKIDONE', 'first=/+'), as('AKIDTWO', 'second')]) {
      expect((await client.send(list)).$metadata.httpStatusCode).toBe(200);
      client.destroy();
    }
    const swapped = as('AKIDONE', 'second');
    expect(await refusal(swapped.send(list))).toMatchObject({ code: 'SignatureDoesNotMatch', status: 403 });
    swapped.destroy();
  } finally {
    await server.stop();
  }
});
