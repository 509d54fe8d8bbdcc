import type { UnaryCall, UnaryHandler } from '../../kit/grpc-call.js';
import { nativeStatus } from '../errors.js';

/** A unary handler from a function that gives the answer or throws. */
export function unary<Request, Response>(
  run: (request: Request, call: UnaryCall<Request, Response>) => Promise<Response>,
): UnaryHandler<Request, Response> {
  return (call) => {
    run(call.request, call).then(
      (response) => call.reply(response),
      (caught: unknown) => call.fail(nativeStatus(caught)),
    );
  };
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
