import type { handleUnaryCall } from '@grpc/grpc-js';
import { statusOf } from './errors.js';
import type { GcpServices } from './services.js';

/** One unary RPC: the reply, or a throw. `call` tells when the client gave up. */
export type Operation<Request, Response> = (
  request: Request,
  call: CallEvents,
) => Response | Promise<Response>;

export interface CallEvents {
  on(event: 'cancelled', listener: () => void): unknown;
}

/** The operation as grpc-js wants it: whatever it throws becomes the call's status. */
export function unary<Request, Response>(
  services: GcpServices,
  operation: Operation<Request, Response>,
): handleUnaryCall<Request, Response> {
  const { counters } = services;
  return (call, callback) => {
    counters.calls++;
    const fail = (caught: unknown): void => {
      counters.errors++;
      callback(statusOf(caught));
    };
    try {
      const reply = operation(call.request, call);
      if (reply instanceof Promise) reply.then((response: Response) => callback(null, response), fail);
      else callback(null, reply);
    } catch (caught) {
      fail(caught);
    }
  };
}
