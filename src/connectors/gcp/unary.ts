import type { CallMetadata } from '../kit/grpc/handlers.js';
import type { ServiceHandlers, UnaryCall, UnaryHandler } from '../kit/grpc-call.js';
import { status } from '../kit/grpc-status.js';
import { statusOf } from './errors.js';
import type { OperationFigures } from './operation-figures.js';
import type { GcpServices } from './services.js';

/** One unary RPC: the reply, or a throw. `call` tells when the client gave up. */
export type Operation<Request, Response> = (
  request: Request,
  call: CallEvents,
) => Response | Promise<Response>;

/** What an operation may ask of its call. */
export interface CallEvents {
  readonly metadata?: CallMetadata;
  on(event: 'cancelled', listener: () => void): unknown;
}

/** The unary RPCs of one service, by their method names in lower camel case. Requests and replies are as the hot codecs have them. */
export type Operations = Readonly<Record<string, Operation<never, unknown>>>;

/** Handlers for all operations of a service. */
export function unaryHandlers(
  services: GcpServices,
  service: string,
  operations: Operations,
): ServiceHandlers {
  return Object.fromEntries(
    Object.entries(operations).map(([name, operation]) => [
      name,
      unary(services, services.figures.of(service, name), operation),
    ]),
  );
}

/** The operation as a handler: whatever it throws becomes the call's status. */
function unary<Request, Response>(
  services: GcpServices,
  figures: OperationFigures,
  operation: Operation<Request, Response>,
): UnaryHandler<Request, Response> {
  const { counters } = services;
  const reply = (call: UnaryCall<Request, Response>, from: number, response: Response): void => {
    figures.count(status.OK, performance.now() - from);
    call.reply(response);
  };
  const fail = (call: UnaryCall<Request, Response>, from: number, caught: unknown): void => {
    const answer = statusOf(caught);
    counters.errors++;
    figures.count(answer.code, performance.now() - from);
    call.fail(answer);
  };
  return (call) => {
    counters.calls++;
    const from = performance.now();
    try {
      const result = operation(call.request, call);
      if (!(result instanceof Promise)) reply(call, from, result);
      else {
        result.then(
          (response: Response) => reply(call, from, response),
          (caught: unknown) => fail(call, from, caught),
        );
      }
    } catch (caught) {
      fail(call, from, caught);
    }
  };
}
