import type { handleUnaryCall, ServerUnaryCall } from '@grpc/grpc-js';
import { nativeStatus } from '../errors.js';

/** A unary handler from a function that gives the answer or throws. */
export function unary<Request, Response>(
  run: (request: Request, call: ServerUnaryCall<Request, Response>) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, reply) => {
    run(call.request, call).then(
      (response) => reply(null, response),
      (caught: unknown) => reply(nativeStatus(caught)),
    );
  };
}

interface Stream {
  on(event: 'cancelled' | 'close' | 'error', listener: () => void): unknown;
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
  call.on('error', once);
}
