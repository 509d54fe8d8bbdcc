import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { expect, it } from 'vitest';
import { TestAuthority } from '../../support/certificates.js';
import { startServer } from '../../support/server.js';

it('queue URLs have the scheme of the connection they were asked over, where both are served', async () => {
  const authority = await TestAuthority.create();
  const { certificate, key } = await authority.server();
  const running = await startServer({
    connectors: ['aws'],
    config: { security: { certData: certificate, keyData: key, allowPlain: true } },
  });
  try {
    const { port } = running.address('aws');
    const create = (send: typeof httpRequest): Promise<string> =>
      new Promise((resolve, reject) => {
        const headers = { 'x-amz-target': 'AmazonSQS.CreateQueue' };
        const options = { host: 'localhost', port, method: 'POST', headers, agent: false };
        send({ ...options, ...(send === httpsRequest && { ca: authority.certificate }) }, (answer) => {
          let body = '';
          answer.setEncoding('utf8').on('data', (text: string) => (body += text));
          answer.on('end', () => resolve(body));
        })
          .on('error', reject)
          .end('{"QueueName":"q"}');
      });
    const url = `://localhost:${port}/000000000000/q`;
    expect(JSON.parse(await create(httpRequest))).toEqual({ QueueUrl: `http${url}` });
    expect(JSON.parse(await create(httpsRequest))).toEqual({ QueueUrl: `https${url}` });
  } finally {
    await running.stop();
  }
});
