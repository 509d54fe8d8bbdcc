/**
 * One error of the AWS wire. `type` is the shape of the JSON protocol (`__type`), `code` the code of the Query protocol,
 * which JSON answers repeat in `x-amzn-query-error`.
 */
export interface FaultKind {
  readonly type: string;
  readonly code: string;
  readonly status: number;
  /** Shapes of the service model live under `com.amazonaws.sqs#`, the others under the framework's name. */
  readonly modelled: boolean;
}

/** An operation's refusal, ready for either protocol. */
export class AwsFault extends Error {
  readonly kind: FaultKind;
  /** Text of the Query protocol where it differs. */
  readonly queryMessage: string;

  constructor(kind: FaultKind, message: string, queryMessage = message) {
    super(message);
    this.name = 'AwsFault';
    this.kind = kind;
    this.queryMessage = queryMessage;
  }

  /** Whether the sender is to blame; else it may try again. */
  get senderFault(): boolean {
    return this.kind.status < 500;
  }
}

/** `Sender` and `Receiver` of both protocols. */
export function faultSide(fault: AwsFault): 'Sender' | 'Receiver' {
  return fault.senderFault ? 'Sender' : 'Receiver';
}
