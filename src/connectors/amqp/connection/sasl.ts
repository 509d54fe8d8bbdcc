import type { Credentials } from '../access/access-policy.js';
import { WireReader } from '../wire/bytes.js';
import { readEntries } from '../wire/field-table.js';
import { ReplyError } from '../wire/reply.js';

/** Mechanisms offered, in the order of preference; EXTERNAL to peers with a certificate. */
export function mechanismsFor(certificateName: string | undefined): string {
  return certificateName === undefined ? 'PLAIN AMQPLAIN' : 'PLAIN AMQPLAIN EXTERNAL';
}

/**
 * The credentials of a SASL response; 403 (connection) when the mechanism is unknown or the response malformed.
 * `certificateName`: whom TLS has verified the peer to be.
 */
export function readCredentials(
  mechanism: string,
  response: Uint8Array,
  certificateName: string | undefined,
): Credentials {
  const bytes = Buffer.from(response.buffer, response.byteOffset, response.length);
  const credentials = read(mechanism, bytes, certificateName);
  if (credentials === undefined) throw refusedLogin(mechanism);
  return credentials;
}

function read(
  mechanism: string,
  bytes: Buffer,
  certificateName: string | undefined,
): Credentials | undefined {
  switch (mechanism) {
    case 'PLAIN':
      return readPlain(bytes);
    case 'AMQPLAIN':
      return readAmqPlain(bytes);
    case 'EXTERNAL':
      return certificateName === undefined ? undefined : { mechanism, user: certificateName };
    default:
      return undefined;
  }
}

/** The one text for every refused login: it says nothing about the reason. */
export function refusedLogin(mechanism: string): ReplyError {
  return new ReplyError(
    403,
    `Login was refused using authentication mechanism ${mechanism}. For details see the broker logfile.`,
    { hard: true, culprit: { classId: 0, methodId: 0 } },
  );
}

/** RFC 4616: authorization identity (must be empty), user, password, parted by NUL. */
function readPlain(bytes: Buffer): Credentials | undefined {
  const parts = bytes.toString('utf8').split('\0');
  const [authorization, user, password] = parts;
  if (parts.length !== 3 || authorization !== '' || user === undefined || password === undefined)
    return undefined;
  return { mechanism: 'PLAIN', user, password };
}

/** A field table without its length: LOGIN and PASSWORD. */
function readAmqPlain(bytes: Buffer): Credentials | undefined {
  try {
    const table = readEntries(new WireReader(bytes));
    const login = table.get('LOGIN');
    const password = table.get('PASSWORD');
    if (login?.tag !== 'S' || password?.tag !== 'S') return undefined;
    return {
      mechanism: 'AMQPLAIN',
      user: Buffer.from(login.value).toString('utf8'),
      password: Buffer.from(password.value).toString('utf8'),
    };
  } catch {
    // Malformed: the same refusal as for anything else that is no login.
    return undefined;
  }
}
