import { NO_IDENTITY } from '../../src/connectors/kit/identity.js';
import { OpenGate } from '../../src/core/access/gatekeeper.js';
import type { Broker } from '../../src/core/broker-api.js';

/** What a connector's context says of security when there is none. */
export function openAccess(broker: Broker) {
  return { gate: new OpenGate(broker), identity: NO_IDENTITY, tls: undefined };
}
