/** What most likely is wrong when a broker cannot be spoken to: what OpenSSL and the system say helps few people. */

export interface ConnectionFault {
  readonly message: string;
  readonly code?: string | undefined;
}

const NO_KNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_ISSUER_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
]);

/** The first line of what went wrong, without the places in OpenSSL's sources. */
export function plainReason({ message, code }: ConnectionFault): string {
  if (message === '') return code ?? 'no reason is known';
  const tls = /SSL routines:[^:]*:([^:]+)/.exec(message)?.[1];
  return tls ?? message.split('\n', 1)[0] ?? message;
}

/** Undefined: nothing comes to mind. */
export function connectionHint(api: string, { message, code = '' }: ConnectionFault): string | undefined {
  if (code === 'ECONNREFUSED')
    return 'is the broker running, and is this its API port? --api (POLYMQ_API) says where it is';
  if (NO_KNOWN_AUTHORITY.has(code))
    return 'its certificate is of no authority that is known here: --ca (POLYMQ_CA) names one';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'its certificate is for another name: use that in --api';
  if (/certificate required|handshake failure/.test(message))
    return 'it asks for a client certificate of its authority: --cert and --key';
  if (/wrong version number|packet length too long/.test(message))
    return 'it speaks no TLS: http:// instead of https://';
  if (code !== 'ECONNRESET' && message !== 'socket hang up') return undefined;
  return api.startsWith('http://')
    ? 'if it speaks TLS: https:// instead of http://'
    : 'if it asks for client certificates: is --cert of its authority?';
}
