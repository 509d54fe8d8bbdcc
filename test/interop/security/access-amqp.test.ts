import { connect, type Channel, type ChannelModel } from 'amqplib';
import { afterAll, describe, expect, it } from 'vitest';
import { useSecuredServer } from './secured-server.js';

const server = useSecuredServer();

describe('AMQP', () => {
  const connections: ChannelModel[] = [];
  afterAll(async () => {
    for (const connection of connections) await connection.close();
  });
  async function amqp(password: string): Promise<ChannelModel> {
    const connection = await connect({
      hostname: '127.0.0.1',
      port: server().running.address('amqp').port,
      username: 'x',
      password,
    });
    connections.push(connection);
    return connection;
  }
  /** How a channel ends. */
  const end = async (connection: ChannelModel, act: (channel: Channel) => unknown): Promise<string> => {
    const channel = await connection.createChannel();
    const closed = new Promise<string>((resolve) =>
      channel.once('error', (error: Error) => resolve(error.message)),
    );
    const acted = Promise.resolve(act(channel)).catch(() => undefined);
    const message = await closed;
    await acted;
    return message;
  };

  it('the token is the password, and its ClientID the user; others are refused at the login', async () => {
    await expect(amqp('guest')).rejects.toThrow(/403|ACCESS[-_]REFUSED|Login was refused|closed/i);
    const connection = await amqp(server().tokens.alice);
    const channel = await connection.createChannel();
    await channel.assertQueue('orders');
    channel.sendToQueue('orders', Buffer.from('x'));
    await channel.assertQueue('orders');
    const message = await channel.get('orders');
    expect(message && message.content.toString()).toBe('x');
  });

  it("what no rule allows closes the channel with 403 in RabbitMQ's words", async () => {
    const root = await (await amqp(server().tokens.root)).createChannel();
    await root.assertQueue('reports');
    const alice = await amqp(server().tokens.alice);
    expect(await end(alice, (channel) => channel.consume('reports', () => undefined))).toContain(
      "ACCESS_REFUSED - access to queue 'reports' in vhost '/' refused for user 'alice'",
    );
    expect(await end(alice, (channel) => channel.assertQueue('mine'))).toContain("access to queue 'mine'");
    const bob = await amqp(server().tokens.bob);
    expect(await end(bob, (channel) => channel.sendToQueue('reports', Buffer.from('x')))).toContain(
      'ACCESS_REFUSED',
    );
    const reader = await bob.createChannel();
    expect(await reader.get('reports')).toBe(false);
  });
});
