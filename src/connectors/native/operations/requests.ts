import type { ServerStreamCall } from '../../kit/grpc-call.js';
import { OWN_TEXTS } from '../error-texts.js';
import { CallFault } from '../errors.js';

/** SendRequest and SendResponse: refused by name, so that a client learns at once and not by a timeout. */
export function refuseRequest() {
  return (): Promise<never> => Promise.reject(CallFault.unserved(OWN_TEXTS.requests));
}

/** SubscribeToRequests, likewise. */
export function refuseRequests() {
  return (call: ServerStreamCall<unknown, unknown>): void => {
    call.fail(CallFault.unserved(OWN_TEXTS.requests).status);
  };
}
