import { createServer } from 'node:http2';

// The least a gRPC server on node:http2 does: it reads a message, sends it back and ends with a status.
const server = createServer({ settings: { initialWindowSize: 1 << 20 } });
server.on('stream', (stream) => {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.on('error', () => undefined);
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.end(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1');
