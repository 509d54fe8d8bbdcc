// Pub/Sub with Google's own client: PUBSUB_EMULATOR_HOST is all it needs. Run: npx tsx examples/pubsub/typescript.ts
process.env['PUBSUB_EMULATOR_HOST'] ??= '127.0.0.1:8085';
const { PubSub } = await import('@google-cloud/pubsub');

const pubsub = new PubSub({ projectId: 'example' });
const [topic] = await pubsub.topic('example-ts').get({ autoCreate: true });
const [subscription] = await topic.subscription('example-ts').get({ autoCreate: true });
await topic.publishMessage({ data: Buffer.from('hello from TypeScript') });

await new Promise<void>((resolve, reject) => {
  subscription.on('error', reject);
  subscription.on('message', (message: { data: Buffer; ack(): void }) => {
    console.log('received:', message.data.toString());
    message.ack();
    resolve();
  });
});
await subscription.close();
await pubsub.close();
