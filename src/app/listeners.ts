import { withoutPlain, type TlsSource } from '../connectors/kit/tls-gate.js';
import type { Config } from './settings.js';

/** A port of the product as one sees it that does not serve it itself. */
export interface ListenerPlan {
  /** As in its connector's addresses. */
  readonly name: string;
  readonly port: number;
  /** Absent: in the clear. `protocols` are offered by ALPN. */
  readonly tls?: { readonly source: TlsSource; readonly protocols: readonly string[] } | undefined;
  /** How a client is told to come again later. */
  readonly refusal: 'aws' | 'http' | 'grpc' | 'close';
}

/** The clients' ports that the configuration opens. */
export function plannedListeners(config: Config, tls: TlsSource | undefined): readonly ListenerPlan[] {
  const { grpc, rest, connectors } = config;
  const { aws, gcp, pubSub, amqp } = connectors;
  const secured = (...protocols: readonly string[]): ListenerPlan['tls'] =>
    tls === undefined ? undefined : { source: tls, protocols };
  const http = secured('http/1.1');
  const plans: readonly (readonly [on: boolean, plan: ListenerPlan])[] = [
    [grpc.enable, { name: 'native-grpc', port: grpc.port, tls: secured('h2'), refusal: 'grpc' }],
    [rest.enable, { name: 'native-rest', port: rest.port, tls: http, refusal: 'http' }],
    [aws.enable, { name: 'aws', port: aws.port, tls: http, refusal: 'aws' }],
    [gcp.enable, { name: 'gcp', port: pubSub.port, tls: secured('h2', 'http/1.1'), refusal: 'grpc' }],
    [
      amqp.enable && (tls === undefined || tls.allowPlain),
      { name: 'amqp', port: amqp.port, refusal: 'close' },
    ],
    [
      amqp.enable && tls !== undefined,
      {
        name: 'amqps',
        port: amqp.tlsPort,
        tls: tls && { source: withoutPlain(tls), protocols: [] },
        refusal: 'close',
      },
    ],
    [
      amqp.enable && amqp.webSocketEnable,
      { name: 'amqp-websocket', port: amqp.webSocketPort, tls: http, refusal: 'http' },
    ],
    [
      amqp.enable && amqp.managementEnable,
      { name: 'amqp-management', port: amqp.managementPort, tls: http, refusal: 'http' },
    ],
  ];
  return plans.filter(([on]) => on).map(([, plan]) => plan);
}
