/** What a self-signed certificate says. */
export interface CertificateFields {
  /** The public key as SubjectPublicKeyInfo, in DER. */
  readonly publicKey: Uint8Array;
  readonly commonName: string;
  /** Up to 20 bytes, the first of them 1–127. */
  readonly serial: Uint8Array;
  /** Unix ms; whole seconds count. */
  readonly notBefore: number;
  readonly notAfter: number;
}

const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const NULL = 0x05;
const OBJECT_ID = 0x06;
const UTF8_STRING = 0x0c;
const SEQUENCE = 0x30;
const SET = 0x31;
const UTC_TIME = 0x17;
const GENERALIZED_TIME = 0x18;
const BOOLEAN = 0x01;

/** sha256WithRSAEncryption, 1.2.840.113549.1.1.11. */
const SHA256_WITH_RSA = Buffer.from('2a864886f70d01010b', 'hex');
/** id-at-commonName, 2.5.4.3. */
const COMMON_NAME = Buffer.from('550403', 'hex');
/** id-ce-basicConstraints 2.5.29.19 and id-ce-keyUsage 2.5.29.15. */
const BASIC_CONSTRAINTS = Buffer.from('551d13', 'hex');
const KEY_USAGE = Buffer.from('551d0f', 'hex');
/** The one bit digitalSignature, seven unused. */
const DIGITAL_SIGNATURE = Buffer.from('0780', 'hex');

/** An X.509 v3 certificate in DER (RFC 5280); `sign` gives the RSA-SHA256 signature of its argument. */
export function selfSignedCertificate(
  fields: CertificateFields,
  sign: (toBeSigned: Uint8Array) => Uint8Array,
): Buffer {
  const algorithm = der(SEQUENCE, der(OBJECT_ID, SHA256_WITH_RSA), der(NULL));
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, der(OBJECT_ID, COMMON_NAME), der(UTF8_STRING, Buffer.from(fields.commonName)))),
  );
  const toBeSigned = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, fields.serial),
    algorithm,
    name,
    der(SEQUENCE, time(fields.notBefore), time(fields.notAfter)),
    name,
    fields.publicKey,
    der(
      0xa3,
      der(
        SEQUENCE,
        extension(BASIC_CONSTRAINTS, der(SEQUENCE)),
        extension(KEY_USAGE, der(BIT_STRING, DIGITAL_SIGNATURE)),
      ),
    ),
  );
  return der(SEQUENCE, toBeSigned, algorithm, der(BIT_STRING, Buffer.from([0]), sign(toBeSigned)));
}

/** A certificate as the text validators fetch. */
export function toPem(certificate: Uint8Array): string {
  const lines =
    Buffer.from(certificate)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

/** A critical extension. */
function extension(id: Uint8Array, value: Uint8Array): Buffer {
  return der(SEQUENCE, der(OBJECT_ID, id), der(BOOLEAN, Buffer.from([0xff])), der(OCTET_STRING, value));
}

function time(unixMs: number): Buffer {
  const text = new Date(unixMs).toISOString().replace(/[-:T]|\.\d{3}/g, '');
  // UTCTime has two digits of the year and ends in 2049.
  return text < '2050'
    ? der(UTC_TIME, Buffer.from(text.slice(2), 'latin1'))
    : der(GENERALIZED_TIME, Buffer.from(text, 'latin1'));
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head =
    length < 0x80
      ? [tag, length]
      : length < 0x100
        ? [tag, 0x81, length]
        : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}
