import type { GrpcCall } from '../../bench/client/http2.js';
import { upstreamRequest, type NativeConnection } from '../../bench/client/native.js';

interface Open {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** An upstream with a promise for each batch: it resolves when all of the batch is stored. */
export class NativeSender {
  readonly #call: GrpcCall;
  readonly #open = new Map<string, Open>();
  #requests = 0;
  #ended: string | undefined;

  constructor(connection: NativeConnection) {
    this.#call = connection.openUpstream(
      ({ requestId, errors }) => {
        const open = this.#open.get(requestId);
        this.#open.delete(requestId);
        const error = errors.find((one) => one !== '');
        if (error === undefined) open?.resolve();
        else open?.reject(new Error(error));
      },
      (end) => {
        this.#ended = `upstream ended: ${end.status} ${end.message}`;
        for (const { reject } of this.#open.values()) reject(new Error(this.#ended));
        this.#open.clear();
      },
    );
  }

  send(messages: readonly Uint8Array[]): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(new Error(this.#ended));
        return;
      }
      const id = String(++this.#requests);
      this.#open.set(id, { resolve, reject });
      this.#call.write(upstreamRequest(id, messages));
    });
  }
}
