// RabbitMQ's usual client for Node.js, unchanged. Run: npx tsx examples/amqp/typescript.ts
import { connect } from 'amqplib';

const connection = await connect(process.env['AMQP_URL'] ?? 'amqp://guest:guest@127.0.0.1:5672');
const channel = await connection.createConfirmChannel();
await channel.assertQueue('example-ts', { durable: true });
channel.sendToQueue('example-ts', Buffer.from('hello from TypeScript'), { persistent: true });
// Done when the broker has it on disk.
await channel.waitForConfirms();

const message = await channel.get('example-ts');
if (message !== false) {
  console.log('received:', message.content.toString());
  channel.ack(message);
}
await channel.close();
await connection.close();
