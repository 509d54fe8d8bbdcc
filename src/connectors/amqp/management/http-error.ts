import { replyErrorOf } from '../errors.js';

/** An answer that is a refusal: status, and RabbitMQ's short word and text for it. */
export class HttpError extends Error {
  readonly status: number;
  readonly word: string;

  constructor(status: number, word: string, reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = 'HttpError';
    this.status = status;
    this.word = word;
  }
}

export const notFound = (): HttpError => new HttpError(404, 'Object Not Found', 'Not Found');
export const badRequest = (reason: string): HttpError => new HttpError(400, 'bad_request', reason);
export const notAuthorised = (reason: string): HttpError => new HttpError(401, 'not_authorised', reason);

/** Whatever was caught while a request was served. AMQP's reply codes become statuses as RabbitMQ's own API has them. */
export function httpErrorOf(caught: unknown): HttpError {
  if (caught instanceof HttpError) return caught;
  if (caught instanceof RangeError || caught instanceof SyntaxError || caught instanceof URIError)
    return badRequest(caught.message);
  const error = replyErrorOf(caught);
  switch (error.code) {
    case 404:
      return notFound();
    case 403:
      return notAuthorised(error.replyText);
    case 506:
    case 320:
      return new HttpError(503, 'unavailable', error.message);
    case 541:
      return new HttpError(500, 'internal_error', 'internal error', { cause: error.cause });
    default:
      return badRequest(error.replyText);
  }
}
