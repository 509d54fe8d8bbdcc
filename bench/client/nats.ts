import type { Socket } from 'node:net';
import { Inbox, openSocket, TurnWriter } from './socket.js';

const LF = 0x0a;
const END = Buffer.from('\r\n');
const PONG = Buffer.from('PONG\r\n');
const ACK = ' 4\r\n+ACK\r\n';
/** Answers to the n-th publish come here. */
const REPLIES = 'r';

type Answered = (answer: string) => void;

/** One NATS connection with what JetStream needs of it, on a framer of its own. */
export class NatsConnection {
  readonly #socket: Socket;
  readonly #out: TurnWriter;
  readonly #inbox = new Inbox();
  readonly #waiting = new Map<number, Answered>();
  #published = 0;
  #onDelivery: ((body: Buffer, reply: string) => void) | undefined;
  failure: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#out = new TurnWriter(socket);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => (this.failure ??= error));
  }

  static async open(port: number): Promise<NatsConnection> {
    const connection = new NatsConnection(await openSocket(port));
    connection.#out.write(Buffer.from(`CONNECT {"verbose":false,"headers":true}\r\nSUB ${REPLIES}.* 1\r\n`));
    return connection;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Publishes with a place for the answer. `body` must not change before the turn ends. */
  publish(subject: string, body: Uint8Array, answered: Answered): void {
    const number = ++this.#published;
    this.#waiting.set(number, answered);
    this.#out.write(Buffer.from(`PUB ${subject} ${REPLIES}.${String(number)} ${String(body.length)}\r\n`));
    this.#out.write(body);
    this.#out.write(END);
  }

  /** Asks the JetStream API; throws what it refuses. */
  async ask(subject: string, request: object): Promise<void> {
    const answer = await new Promise<string>((resolve) =>
      this.publish(subject, Buffer.from(JSON.stringify(request)), resolve),
    );
    if (isRefusal(answer)) throw new Error(`${subject}: ${answer}`);
  }

  /** What comes to `subject`; each delivery is acknowledged by its reply subject. */
  listen(subject: string, onDelivery: (body: Buffer, reply: string) => void): void {
    this.#onDelivery = onDelivery;
    this.#out.write(Buffer.from(`SUB ${subject} 2\r\n`));
  }

  ack(reply: string): void {
    this.#out.write(Buffer.from(`PUB ${reply}${ACK}`));
  }

  #read(chunk: Buffer): void {
    const inbox = this.#inbox;
    inbox.add(chunk);
    for (;;) {
      const { bytes, at } = inbox;
      const end = bytes.indexOf(LF, at);
      if (end < 0) return;
      const line = bytes.toString('latin1', at, end - 1);
      if (!line.startsWith('MSG ')) {
        inbox.at = end + 1;
        this.#control(line);
        continue;
      }
      const [, subject = '', id = '', ...rest] = line.split(' ');
      const length = Number(rest.at(-1));
      const start = end + 1;
      if (bytes.length < start + length + END.length) return;
      inbox.at = start + length + END.length;
      const body = bytes.subarray(start, start + length);
      if (id === '2') this.#onDelivery?.(body, rest[0] ?? '');
      else this.#answered(Number(subject.slice(REPLIES.length + 1)), body);
    }
  }

  #answered(number: number, body: Buffer): void {
    const answered = this.#waiting.get(number);
    this.#waiting.delete(number);
    answered?.(body.toString('latin1'));
  }

  #control(line: string): void {
    if (line.startsWith('PING')) this.#out.write(PONG);
    else if (line.startsWith('-ERR')) this.failure ??= new Error(`nats: ${line}`);
  }
}

/** Whether an answer of JetStream says that it did not do it. */
export function isRefusal(answer: string): boolean {
  return answer === '' || answer.includes('"error"');
}
