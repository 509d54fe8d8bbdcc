import type { HttpExchange } from '../kit/http-listener.js';
import { AccessDenied } from '../../core/access/resource.js';
import type { Client } from '../../core/access/gatekeeper.js';
import { accessFault, requireAccess } from './access.js';
import { COMMON_FAULTS, faultOf, missingParameter } from './errors.js';
import type { Service } from './errors.js';
import type { AwsServices, Call, Operation } from './operation.js';
import { RequestCall } from './request-call.js';
import type { CallHost } from './request-call.js';
import { SNS_OPERATIONS } from './sns/operations.js';
import { NOT_ON_QUEUE_PATH, SQS_OPERATIONS } from './sqs/operations.js';
import { STS_OPERATIONS } from './sts/operations.js';
import type { OwnPlace } from './urls.js';
import { AwsFault } from './wire/fault.js';
import { parseJsonInput, queryErrorHeader, writeJsonFault } from './wire/json.js';
import { readQuery } from './wire/query.js';
import { acceptsJson, writeQueryJsonAnswer, writeQueryJsonFault } from './wire/query-json.js';
import { accessKeyOf, jsonRequest, pathOf, QUEUE_PATH, queryRequest } from './wire/request.js';
import type { QueryRequest, RequestHead } from './wire/request.js';
import { writeXmlAnswer, writeXmlFault } from './wire/xml.js';

const OPERATIONS: Readonly<Record<Service, ReadonlyMap<string, Operation>>> = {
  sqs: SQS_OPERATIONS,
  sns: SNS_OPERATIONS,
  sts: STS_OPERATIONS,
};

const NAMESPACE: Readonly<Record<Service, string>> = {
  sqs: 'http://queue.amazonaws.com/doc/2012-11-05/',
  sns: 'http://sns.amazonaws.com/doc/2010-03-31/',
  sts: 'https://sts.amazonaws.com/doc/2011-06-15/',
};

const JSON_TYPE = 'application/x-amz-json-1.0';
/** Of the Query protocol's answers to clients that accept JSON. */
const PLAIN_JSON_TYPE = 'application/json';
const XML_TYPE = 'text/xml';
/** Access keys that are kept as the sender's id; AWS's are letters and digits. */
const ACCESS_KEY = /^[\x21-\x7e]{1,128}$/;
const ANONYMOUS = 'anonymous';
const PEM_TYPE = 'application/x-pem-file';
/** Hexadecimal digits of a UUID's last part. */
const REQUEST_COUNT_DIGITS = 12;

/** The one endpoint of both services: finds out protocol and operation, runs it, answers in the same protocol. */
export class AwsEndpoint implements CallHost {
  readonly #services: AwsServices;
  readonly place: () => OwnPlace;
  readonly #polls = new Set<AbortController>();
  /** A random UUID whose last part counts requests: as unique as one drawn each time, at a fraction of the cost. */
  readonly #requestIdPrefix: string;
  #requests = 0;
  /** The services with each client's broker in place of the connector's. */
  readonly #clients = new WeakMap<Client, AwsServices>();
  #draining = false;

  constructor(services: AwsServices, place: () => OwnPlace) {
    this.#services = services;
    this.place = place;
    this.#requestIdPrefix = services.ids.uuid().slice(0, -REQUEST_COUNT_DIGITS);
  }

  /** Receives that wait. */
  get polls(): number {
    return this.#polls.size;
  }

  /** Ends every waiting receive with what there is: nothing. */
  endPolls(): void {
    this.#draining = true;
    for (const poll of this.#polls) poll.abort();
  }

  handle(exchange: HttpExchange): Promise<void> {
    const target = exchange.header('x-amz-target');
    return target !== undefined && exchange.method === 'POST'
      ? this.#json(exchange, target)
      : this.#query(exchange);
  }

  /** The body was larger than the listener takes. */
  refuseOversize(exchange: HttpExchange): void {
    const { bodyBytesMax } = this.#services.config;
    const fault = new AwsFault(COMMON_FAULTS.requestTooLarge, `A request is at most ${bodyBytesMax} bytes.`);
    const requestId = this.#nextRequestId();
    if (exchange.header('x-amz-target') === undefined)
      this.#queryFault(exchange, fault, { service: 'sqs', requestId });
    else this.#jsonFault(exchange, fault, requestId);
  }

  async #json(exchange: HttpExchange, target: string): Promise<void> {
    const requestId = this.#nextRequestId();
    const { service, operation: name } = jsonRequest(target);
    try {
      this.#authenticate(exchange, 'sqs');
      const operation = service === undefined ? undefined : SQS_OPERATIONS.get(name);
      if (operation === undefined) {
        throw new AwsFault(
          COMMON_FAULTS.unknownOperation,
          `The operation ${name.slice(0, 100)} is not known.`,
        );
      }
      const request = parseJsonInput(exchange.body, operation.long);
      if (request === undefined) {
        throw new AwsFault(COMMON_FAULTS.serialization, 'The request body is not a JSON structure.');
      }
      const result = await operation.run(this.#call(exchange, { service: 'sqs', operation }, request));
      const text =
        operation.output === undefined ? '' : (operation.toJson?.(result) ?? JSON.stringify(result));
      exchange.reply(200, ['Content-Type', JSON_TYPE, 'x-amzn-RequestId', requestId], text);
    } catch (error) {
      this.#jsonFault(exchange, this.#faultOf('sqs', name, error), requestId);
    }
  }

  async #query(exchange: HttpExchange): Promise<void> {
    const requestId = this.#nextRequestId();
    const request = queryRequest(headOf(exchange), exchange.body);
    if (request === undefined) {
      const fault = new AwsFault(COMMON_FAULTS.serialization, 'The request parameters are malformed.');
      this.#queryFault(exchange, fault, { service: 'sqs', requestId });
      return;
    }
    const { service, operation: name } = request;
    if (name === '') {
      const certificate = this.#services.signing.certificateAt(pathOf(exchange.url));
      if (certificate !== undefined) exchange.reply(200, ['Content-Type', PEM_TYPE], certificate);
      else if (exchange.method === 'POST')
        this.#queryFault(exchange, missingParameter('Action'), { service, requestId });
      else exchange.reply(404, ['Content-Type', XML_TYPE], '<UnknownOperationException/>');
      return;
    }
    try {
      const open = mayComeUnsigned(request, exchange);
      if (!open) this.#authenticate(exchange, service);
      const operation = findOperation(request, exchange);
      const input = readQuery(request.parameters, operation.input);
      const result = await operation.run(
        this.#call(exchange, { service, operation }, { input, strings: undefined }, request.parameters),
      );
      const answer = { operation: name, requestId, output: operation.output, result };
      const isJson = acceptsJson(exchange.header('accept'));
      const text = isJson
        ? writeQueryJsonAnswer(answer)
        : writeXmlAnswer({ ...answer, namespace: NAMESPACE[service] });
      const type = isJson ? PLAIN_JSON_TYPE : XML_TYPE;
      exchange.reply(200, ['Content-Type', type, 'x-amzn-RequestId', requestId], text);
    } catch (error) {
      this.#queryFault(exchange, this.#faultOf(service, name, error), { service, requestId });
    }
  }

  /** Throws AWS's refusals when signatures are checked and this one does not hold. */
  #authenticate(exchange: HttpExchange, service: Service): void {
    const { authentication } = this.#services;
    if (!authentication.required) return;
    authentication.check(exchange, service);
  }

  #nextRequestId(): string {
    return this.#requestIdPrefix + (++this.#requests).toString(16).padStart(REQUEST_COUNT_DIGITS, '0');
  }

  /** What the operation works on. Throws AccessDenied when the client may not ask for it. */
  #call(
    exchange: HttpExchange,
    { service, operation }: { readonly service: Service; readonly operation: Operation },
    { input, strings }: Pick<Call, 'input' | 'strings'>,
    parameters?: ReadonlyMap<string, string>,
  ): Call {
    const accessKey = accessKeyOf(exchange.header('authorization'), parameters);
    const senderId = ACCESS_KEY.test(accessKey) ? accessKey : ANONYMOUS;
    const path = pathOf(exchange.url);
    const { gate } = this.#services;
    const client = gate.enabled ? gate.clientOf(senderId) : undefined;
    // Where no signature is needed, the rights of whoever comes without one are no matter.
    const open = accessKey === '' && operation.allowsUnsigned?.(input) === true;
    if (client !== undefined && !open)
      requireAccess(client, { service, operation: operation.name, input, path });
    return new RequestCall(this, exchange, {
      // What is published to a topic goes on under the right of who subscribed, so there the broker is the connector's own.
      services: client === undefined || service !== 'sqs' ? this.#services : this.#servicesOf(client),
      client,
      input,
      strings,
      senderId,
      signed: accessKey !== '',
      path,
    });
  }

  #servicesOf(client: Client): AwsServices {
    let services = this.#clients.get(client);
    if (services === undefined) {
      services = { ...this.#services, broker: client.broker };
      this.#clients.set(client, services);
    }
    return services;
  }

  async whileConnected<T>(exchange: HttpExchange, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const poll = new AbortController();
    if (this.#draining) poll.abort();
    this.#polls.add(poll);
    exchange.onPeerGone(() => poll.abort());
    try {
      return await work(poll.signal);
    } finally {
      exchange.onPeerGone(undefined);
      this.#polls.delete(poll);
    }
  }

  #faultOf(service: Service, operation: string, error: unknown): AwsFault {
    if (error instanceof AccessDenied)
      return accessFault(error, { service, operation }, this.#services.config);
    const fault = faultOf(service, error);
    if (fault.kind === COMMON_FAULTS.internalFailure || fault.kind.status === 500) {
      this.#services.log.error('request failed', { service, error });
    }
    return fault;
  }

  #jsonFault(exchange: HttpExchange, fault: AwsFault, requestId: string): void {
    this.#services.counters.faults++;
    const headers = [
      'Content-Type',
      JSON_TYPE,
      'x-amzn-RequestId',
      requestId,
      'x-amzn-query-error',
      queryErrorHeader(fault),
    ];
    exchange.reply(fault.kind.status, headers, writeJsonFault(fault));
  }

  #queryFault(
    exchange: HttpExchange,
    fault: AwsFault,
    { service, requestId }: { readonly service: Service; readonly requestId: string },
  ): void {
    this.#services.counters.faults++;
    const isJson = acceptsJson(exchange.header('accept'));
    const text = isJson
      ? writeQueryJsonFault(fault, requestId)
      : writeXmlFault(fault, { namespace: NAMESPACE[service], requestId, detailed: service === 'sqs' });
    const type = isJson ? PLAIN_JSON_TYPE : XML_TYPE;
    exchange.reply(fault.kind.status, ['Content-Type', type, 'x-amzn-RequestId', requestId], text);
  }
}

/** Whether the request has no signature and its operation needs none: the links in what SNS posts are such. */
function mayComeUnsigned(
  { service, operation: name, parameters }: QueryRequest,
  exchange: HttpExchange,
): boolean {
  const operation = OPERATIONS[service].get(name);
  if (operation?.allowsUnsigned === undefined) return false;
  if (exchange.header('authorization') !== undefined || parameters.has('X-Amz-Signature')) return false;
  return operation.allowsUnsigned(readQuery(parameters, operation.input));
}

function headOf(exchange: HttpExchange): RequestHead {
  return {
    url: exchange.url,
    host: exchange.header('host'),
    contentType: exchange.header('content-type'),
    authorization: exchange.header('authorization'),
  };
}

function findOperation({ service, operation: name }: QueryRequest, exchange: HttpExchange): Operation {
  const operation = OPERATIONS[service].get(name);
  const onQueue = service === 'sqs' && QUEUE_PATH.test(pathOf(exchange.url));
  if (operation === undefined || (onQueue && NOT_ON_QUEUE_PATH.has(name))) {
    throw new AwsFault(
      COMMON_FAULTS.invalidAction,
      `The action ${name.slice(0, 100)} is not valid for this endpoint.`,
    );
  }
  return operation;
}
