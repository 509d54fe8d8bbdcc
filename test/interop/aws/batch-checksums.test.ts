import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SeededIds } from '../../../src/base/ids.js';
import { startAwsServer, type AwsServer } from './aws-server.js';
import { listIn, RawSqs, type Fields } from './raw-client.js';
import { queueArn, Topics } from './sns-rig.js';

/** Of batches, the checksums are computed together: each must be that of its own body, whatever its neighbours are. */
let server: AwsServer;
let sqs: RawSqs;

beforeAll(async () => {
  server = await startAwsServer();
  sqs = new RawSqs(server.url);
});
afterAll(() => server.stop());

const SEED = 20_261_201;
const ids = new SeededIds(SEED);
const SIZES = [1, 2, 54, 55, 56, 63, 64, 65, 119, 120, 1_024, 16_374, 16_375, 16_376, 40_000];
const CHARACTERS = ['a', ' ', '+', '%', '&', '=', '"', '\\', '\t', '\n', '/', '{', 'é', '€', '🐰', '<', ']'];

const md5 = (text: string): string => createHash('md5').update(text, 'utf8').digest('hex');
const pick = <T>(list: readonly T[]): T => list[ids.below(list.length)] as T;

/** Text of about so many characters: plain, of any characters, or plain with one that is not. */
function anyText(): string {
  const size = pick(SIZES);
  const kind = ids.below(3);
  if (kind === 0) return 'x'.repeat(size);
  if (kind === 1) return Array.from({ length: Math.min(size, 2_000) }, () => pick(CHARACTERS)).join('');
  return 'y'.repeat(size - 1) + pick(CHARACTERS);
}

/** A body of which SQS takes nothing. */
const isRefused = (body: string): boolean => body === '' || body.includes('\u0000');

function anyBatch(): readonly { readonly id: string; readonly body: string }[] {
  const count = 1 + ids.below(10);
  return Array.from({ length: count }, (_, i) => {
    const body = ids.below(6) === 0 ? pick(['', 'a\u0000b']) : anyText();
    return { id: `e${String(i)}`, body };
  });
}

async function received(queue: string): Promise<readonly Fields[]> {
  const all: Fields[] = [];
  for (;;) {
    const some = await sqs.receive(queue, { VisibilityTimeout: 300 });
    if (some.length === 0) return all;
    all.push(...some);
  }
}

const sorted = (texts: readonly unknown[]): readonly string[] => texts.map(String).sort();

describe(`checksums in batches (seed ${String(SEED)})`, () => {
  it('of SendMessageBatch are each body’s, bad entries among them', async () => {
    for (let run = 0; run < 60; run++) {
      const queue = await sqs.make();
      const batch = anyBatch();
      const Entries = batch.map(({ id, body }) => ({ Id: id, MessageBody: body }));
      const answer = await sqs.json('SendMessageBatch', { QueueUrl: queue, Entries });
      const good = batch.filter(({ body }) => !isRefused(body));
      const sums = listIn(answer, 'Successful').map((one) => [one['Id'], one['MD5OfMessageBody']]);
      expect(sums).toEqual(good.map(({ id, body }) => [id, md5(body)]));
      expect(listIn(answer, 'Failed').map((one) => one['Id'])).toEqual(
        batch.filter(({ body }) => isRefused(body)).map(({ id }) => id),
      );
      const messages = await received(queue);
      expect(sorted(messages.map((one) => one['Body']))).toEqual(sorted(good.map(({ body }) => body)));
      for (const one of messages) expect(one['MD5OfBody']).toBe(md5(String(one['Body'])));
    }
  });

  it('of the Query protocol are the same', async () => {
    for (let run = 0; run < 30; run++) {
      const queue = await sqs.make();
      const batch = anyBatch().filter(({ body }) => !isRefused(body));
      if (batch.length === 0) continue;
      const parameters: Record<string, string> = { Action: 'SendMessageBatch', QueueUrl: queue };
      for (const [i, { id, body }] of batch.entries()) {
        const entry = `SendMessageBatchRequestEntry.${String(i + 1)}`;
        parameters[`${entry}.Id`] = id;
        parameters[`${entry}.MessageBody`] = body;
      }
      expect((await sqs.query(parameters)).status).toBe(200);
      const messages = await received(queue);
      expect(sorted(messages.map((one) => one['Body']))).toEqual(sorted(batch.map(({ body }) => body)));
      for (const one of messages) expect(one['MD5OfBody']).toBe(md5(String(one['Body'])));
    }
  });

  it('of what SNS delivers are each copy’s, raw or in its document', async () => {
    const topics = new Topics(server);
    const [raw, wrapped, other] = [await sqs.make(), await sqs.make(), await sqs.make()];
    const topic = await topics.create();
    await topics.subscribe(topic, queueArn(raw), { RawMessageDelivery: 'true' });
    await topics.subscribe(topic, queueArn(wrapped));
    await topics.subscribe(topic, queueArn(other));
    const texts: string[] = [];
    for (let run = 0; run < 12; run++) {
      const batch = anyBatch().filter(({ body }) => !isRefused(body) && body.length < 20_000);
      if (batch.length === 0) continue;
      const parameters: Record<string, string> = {
        Action: 'PublishBatch',
        Version: '2010-03-31',
        TopicArn: topic,
      };
      for (const [i, { id, body }] of batch.entries()) {
        const entry = `PublishBatchRequestEntries.member.${String(i + 1)}`;
        parameters[`${entry}.Id`] = id;
        parameters[`${entry}.Message`] = body;
      }
      const answer = await sqs.query(parameters);
      expect(answer.status, answer.text).toBe(200);
      texts.push(...batch.map(({ body }) => body));
    }
    const messages = {
      raw: await received(raw),
      wrapped: await received(wrapped),
      other: await received(other),
    };
    for (const one of Object.values(messages).flat()) expect(one['MD5OfBody']).toBe(md5(String(one['Body'])));
    const messageIn = (one: Fields): string =>
      (JSON.parse(String(one['Body'])) as { readonly Message: string }).Message;
    expect(sorted(messages.raw.map((one) => one['Body']))).toEqual(sorted(texts));
    expect(sorted(messages.wrapped.map(messageIn))).toEqual(sorted(texts));
    expect(sorted(messages.other.map(messageIn))).toEqual(sorted(texts));
  });
});
