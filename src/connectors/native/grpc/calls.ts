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
