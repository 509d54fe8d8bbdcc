import type { ServiceHandlers, UnaryCall, UnaryHandler } from '../kit/grpc-call.js';
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

/** The unary RPCs of one service, by their method names in lower camel case. Requests and replies are as the hot codecs have them. */
export type Operations = Readonly<Record<string, Operation<never, unknown>>>;

/** Handlers for all operations of a service. */
export function unaryHandlers(services: GcpServices, operations: Operations): ServiceHandlers {
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [name, unary(services, operation)]),
  );
}

/** The operation as a handler: whatever it throws becomes the call's status. */
function unary<Request, Response>(
  services: GcpServices,
  operation: Operation<Request, Response>,
): UnaryHandler<Request, Response> {
  const { counters } = services;
  const fail = (call: UnaryCall<Request, Response>, caught: unknown): void => {
    counters.errors++;
    call.fail(statusOf(caught));
  };
  return (call) => {
    counters.calls++;
    try {
      const reply = operation(call.request, call);
      if (!(reply instanceof Promise)) call.reply(reply);
      else {
        reply.then(
          (response: Response) => call.reply(response),
          (caught: unknown) => fail(call, caught),
        );
      }
    } catch (caught) {
      fail(call, caught);
    }
  };
}
