import { connect, type ClientHttp2Session } from 'node:http2';

const FRAME_HEAD_BYTES = 5;

/** How a call ended. */
export interface GrpcEnd {
  /** -1: without a status. */
  readonly code: number;
  readonly details: string;
}

/** One HTTP/2 connection on which calls are made from bare bytes, for what no client would send. */
export class GrpcLane {
  readonly #session: ClientHttp2Session;

  /** `url`: `http://host:port`. */
  constructor(url: string) {
    this.#session = connect(url);
    this.#session.on('error', () => undefined);
  }

  call(path: string, payloads: readonly Buffer[]): Promise<GrpcEnd> {
    const stream = this.#session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let code = -1;
    let details = '';
    const take = (headers: Readonly<Record<string, unknown>>): void => {
      if (headers['grpc-status'] === undefined) return;
      code = Number(headers['grpc-status']);
      details = decodeURIComponent((headers['grpc-message'] as string | undefined) ?? '');
    };
    stream
      .on('response', take)
      .on('trailers', take)
      .on('error', () => undefined);
    stream.resume();
    for (const payload of payloads) stream.write(framed(payload));
    stream.end();
    return new Promise((resolve) => {
      stream.on('close', () => resolve({ code, details }));
    });
  }

  close(): void {
    this.#session.destroy();
  }
}

function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
