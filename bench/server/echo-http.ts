import { createServer } from 'node:http';

// The least an HTTP server on node:http does: it reads a body and sends it back.
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0', 'content-length': body.length });
    response.end(body);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1');
