// The native API with the published client for Node.js. Run: npx tsx examples/native/typescript.ts
import { QueuesClient } from 'kubemq-js';

const client = new QueuesClient({
  address: process.env['KUBEMQ_ADDRESS'] ?? '127.0.0.1:50000',
  clientId: 'example',
});
await client.send({ channel: 'example-ts', body: Buffer.from('hello from TypeScript') });

const { messages } = await client.pull({
  channel: 'example-ts',
  maxNumberOfMessages: 1,
  waitTimeoutSeconds: 5,
});
for (const message of messages) console.log('received:', Buffer.from(message.body as Uint8Array).toString());
process.exit(0);
