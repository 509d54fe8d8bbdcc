/** Statuses a malformed or unwanted request is refused with before anybody looks at it. */
export type RefusalStatus = 400 | 408 | 414 | 417 | 431 | 501 | 505;

/** Bytes that are no request this server takes. Nothing after them can be trusted: the connection ends. */
export class HttpRefusal extends Error {
  readonly status: RefusalStatus;

  constructor(status: RefusalStatus, reason: string) {
    super(reason);
    this.name = 'HttpRefusal';
    this.status = status;
  }
}
