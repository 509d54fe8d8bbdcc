import type { Downstream, NativeConnection, NativePoll } from '../../bench/client/native.js';

/** A downstream with a promise for each Get. */
export class NativePoller {
  readonly #downstream: Downstream;
  #waiting: { resolve: (poll: NativePoll) => void; reject: (error: Error) => void } | undefined;
  #ended: string | undefined;

  constructor(connection: NativeConnection) {
    this.#downstream = connection.openDownstream(
      (poll) => {
        const waiting = this.#waiting;
        this.#waiting = undefined;
        // Bodies are views of the receive buffer.
        const messages = poll.messages.map(({ id, body }) => ({ id, body: Uint8Array.from(body) }));
        if (poll.error === '') waiting?.resolve({ ...poll, messages });
        else waiting?.reject(new Error(poll.error));
      },
      (end) => {
        this.#ended = `downstream ended: ${end.status} ${end.message}`;
        this.#waiting?.reject(new Error(this.#ended));
      },
    );
  }

  get(channel: string, max: number, waitMs: number): Promise<NativePoll> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(new Error(this.#ended));
        return;
      }
      this.#waiting = { resolve, reject };
      this.#downstream.get(channel, max, waitMs);
    });
  }

  ackAll({ transactionId }: NativePoll): void {
    this.#downstream.ackAll(transactionId);
  }

  nackAll({ transactionId }: NativePoll): void {
    this.#downstream.nackAll(transactionId);
  }
}
