/** Who waits for a unary operation. */
export interface Caller {
  /** It gave up: nobody reads the answer any more. */
  on(event: 'cancelled', listener: () => void): unknown;
  off(event: 'cancelled', listener: () => void): unknown;
}

interface Stream {
  on(event: 'cancelled' | 'close', listener: () => void): unknown;
}

/** Calls `over` once, when a stream's peer is gone or the call has ended; never on a half-close. */
export function onOver(call: Stream, over: () => void): void {
  let isOver = false;
  const once = (): void => {
    if (isOver) return;
    isOver = true;
    over();
  };
  call.on('cancelled', once);
  call.on('close', once);
}
