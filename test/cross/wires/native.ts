import { NativeClient } from '../../support/native-client.js';
import { Downstream } from '../../support/native-shapes.js';
import type { Consumer, Endpoints, Producer } from './wire.js';

export async function nativeProducer(endpoints: Endpoints, queue: string): Promise<Producer> {
  const client = new NativeClient(endpoints.native, 'producer');
  return {
    name: 'native',
    takesBytes: true,
    send: async ({ body, attribute }) => {
      const result = await client.send({
        Channel: queue,
        Metadata: 'native metadata',
        Body: body,
        Tags: { [attribute.name]: attribute.value },
      });
      if (result.IsError) throw new Error(result.Error);
    },
    close: async () => client.close(),
  };
}

export async function nativeConsumer(endpoints: Endpoints, queue: string): Promise<Consumer> {
  const client = new NativeClient(endpoints.native, 'consumer');
  const stream = client.downstream();
  return {
    name: 'native',
    receive: async () => {
      for (;;) {
        const reply = await stream.get(queue, { MaxItems: 1, WaitTimeout: 5000 });
        if (reply.IsError) throw new Error(reply.Error);
        const [message] = reply.Messages;
        if (message === undefined) continue;
        const settle = async (type: number): Promise<void> => {
          const settled = await stream.settle(type, reply.TransactionId);
          if (settled.IsError) throw new Error(settled.Error);
        };
        return {
          body: message.Body,
          wasBase64: false,
          attributes: new Map(Object.entries(message.Tags)),
          metadata: message.Metadata,
          id: message.MessageID,
          receiveCount: message.Attributes.ReceiveCount,
          isRedelivered: message.Attributes.ReceiveCount > 1,
          accept: () => settle(Downstream.ackAll),
          giveBack: () => settle(Downstream.nackAll),
        };
      }
    },
    close: async () => {
      stream.end();
      await stream.ended;
      client.close();
    },
  };
}
