import {
  FlowWriter,
  type ServerStreamCall,
  type ServiceHandlers,
  type UnaryCall,
} from '../../kit/grpc-call.js';
import type { ServiceDefinition } from '../../kit/grpc-service.js';
import { status } from '../../kit/grpc-status.js';
import { onOver } from '../operations/calls.js';
import type { Sessions } from '../sessions.js';
import { HealthCheckRequest, HealthCheckResponse, ServingStatus } from '../wire/server-services.js';

/** The whole server, and its one service. */
const SERVICES = ['', 'kubemq.kubemq'];

export const healthService: ServiceDefinition = {
  check: {
    path: '/grpc.health.v1.Health/Check',
    kind: 'unary',
    request: HealthCheckRequest,
    response: HealthCheckResponse,
  },
  watch: {
    path: '/grpc.health.v1.Health/Watch',
    kind: 'server-stream',
    request: HealthCheckRequest,
    response: HealthCheckResponse,
  },
};

/** Health of the server: it serves until it drains. Watchers are told when that begins. Open to everyone, like Ping. */
export function healthHandlers(sessions: Sessions): ServiceHandlers {
  const now = (): HealthCheckResponse => ({
    status: sessions.draining ? ServingStatus.notServing : ServingStatus.serving,
  });
  return {
    check: (call: UnaryCall<HealthCheckRequest, HealthCheckResponse>) => {
      const { service } = call.request;
      if (SERVICES.includes(service)) call.reply(now());
      else call.fail({ code: status.NOT_FOUND, details: `unknown service ${service}` });
    },
    watch: (call: ServerStreamCall<HealthCheckRequest, HealthCheckResponse>) => {
      const writer = new FlowWriter(call);
      const isKnown = SERVICES.includes(call.request.service);
      writer.write(isKnown ? now() : { status: ServingStatus.serviceUnknown });
      onOver(
        call,
        sessions.enter({
          drain: () => {
            if (isKnown) writer.write({ status: ServingStatus.notServing });
            writer.end();
          },
        }),
      );
    },
  };
}
