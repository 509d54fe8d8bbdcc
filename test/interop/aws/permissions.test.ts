import {
  AddPermissionCommand,
  CreateQueueCommand,
  GetQueueAttributesCommand,
  RemovePermissionCommand,
} from '@aws-sdk/client-sqs';
import type { AddPermissionCommandInput } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusal, startAwsServer, type AwsServer } from './aws-server.js';

let server: AwsServer;

beforeAll(async () => {
  server = await startAwsServer();
  await server.sqs.send(new CreateQueueCommand({ QueueName: 'q' }));
});
afterAll(() => server.stop());

const ARN = 'arn:aws:sqs:kubemq:000000000000:q';

function add(more: Partial<AddPermissionCommandInput>) {
  const plain = { QueueUrl: 'q', Label: 'one', AWSAccountIds: ['111122223333'], Actions: ['SendMessage'] };
  return server.sqs.send(new AddPermissionCommand({ ...plain, ...more }));
}

function remove(Label: string) {
  return server.sqs.send(new RemovePermissionCommand({ QueueUrl: 'q', Label }));
}

async function policy(): Promise<unknown> {
  const command = new GetQueueAttributesCommand({ QueueUrl: 'q', AttributeNames: ['Policy'] });
  const text = (await server.sqs.send(command)).Attributes?.['Policy'];
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}

describe('permissions of a queue', () => {
  it('are statements of its policy', async () => {
    await add({});
    const two = {
      Label: 'two',
      AWSAccountIds: ['111122223333', '444455556666'],
      Actions: ['*', 'ReceiveMessage'],
    };
    await add(two);
    const root = (account: string) => `arn:aws:iam::${account}:root`;
    expect(await policy()).toEqual({
      Version: '2008-10-17',
      Id: `${ARN}/SQSDefaultPolicy`,
      Statement: [
        {
          Sid: 'one',
          Effect: 'Allow',
          Principal: { AWS: root('111122223333') },
          Action: 'SQS:SendMessage',
          Resource: ARN,
        },
        {
          Sid: 'two',
          Effect: 'Allow',
          Principal: { AWS: [root('111122223333'), root('444455556666')] },
          Action: ['SQS:*', 'SQS:ReceiveMessage'],
          Resource: ARN,
        },
      ],
    });
    expect(await refusal(add({}))).toMatchObject({
      status: 400,
      message: 'Value one for parameter Label is invalid. Reason: Already exists.',
    });
    await remove('one');
    expect(await policy()).toMatchObject({ Statement: [{ Sid: 'two' }] });
    await remove('two');
    expect(await policy()).toBeUndefined();
    expect(await refusal(remove('two'))).toMatchObject({
      status: 400,
      message: "Value two for parameter Label is invalid. Reason: can't find label.",
    });
  });

  it.each<[string, Partial<AddPermissionCommandInput>, number]>([
    ['a label with a space', { Label: 'a b' }, 400],
    ['an account that is none', { AWSAccountIds: ['x'] }, 400],
    ['an action of the owner', { Actions: ['CreateQueue'] }, 400],
    ['no action', { Actions: [] }, 400],
    ['eight actions', { Actions: Array<string>(8).fill('SendMessage') }, 403],
  ])('refuse %s', async (_, input, status) => {
    expect(await refusal(add(input))).toMatchObject({ status });
  });

  it('need somebody to permit', async () => {
    expect(await refusal(add({ AWSAccountIds: [] }))).toMatchObject({
      status: 400,
      message: 'Value [] for parameter PrincipalId is invalid. Reason: Unable to verify.',
    });
    expect(await refusal(add({ AWSAccountIds: undefined }))).toMatchObject({ code: 'MissingParameter' });
  });

  it('are bounded to twenty', async () => {
    for (let i = 0; i < 20; i++) await add({ Label: `l${i}` });
    expect(await refusal(add({ Label: 'more' }))).toMatchObject({ code: 'OverLimit', status: 403 });
  });
});
