import type { EventEmitter } from 'node:events';

/** Runs `work`, and `gone` when the client's socket closes before its end. The socket may serve many requests: nothing stays on it. */
export async function whileConnected<T>(
  socket: Pick<EventEmitter, 'once' | 'off'>,
  gone: () => void,
  work: () => Promise<T>,
): Promise<T> {
  socket.once('close', gone);
  try {
    return await work();
  } finally {
    socket.off('close', gone);
  }
}
