import { BODY_BYTES, bodyText, readSequence, writeSequence } from '../client/body.js';
import { Ledger } from '../client/ledger.js';
import { isRefusal, NatsConnection } from '../client/nats.js';
import { phase, sleep, waitUntil, type Load, type LoadJob, type RunContext } from './job.js';

/** Publishes without an answer, and deliveries without an acknowledgement. */
const PUBLISHES_OPEN = 1000;
const PENDING_MAX = 500;
const BODY = Buffer.from(bodyText());

/** A work queue: one stream in a file, its subject, and one consumer with acknowledgements of each message. */
class WorkQueue {
  readonly name: string;
  readonly ledger = new Ledger();
  failure: Error | undefined;

  private constructor(label: string) {
    this.name = `bench-${label}`;
  }

  static async make(connection: NatsConnection, label: string, replicas: number): Promise<WorkQueue> {
    const queue = new WorkQueue(label);
    const { name } = queue;
    await connection.ask(`$JS.API.STREAM.CREATE.${name}`, {
      name,
      subjects: [`q.${name}`],
      retention: 'workqueue',
      storage: 'file',
      num_replicas: replicas,
    });
    return queue;
  }

  async publish(connection: NatsConnection, job: LoadJob): Promise<number> {
    const { ledger } = this;
    const subject = `q.${this.name}`;
    const end = performance.now() + job.seconds * 1000;
    let open = 0;
    const next = (): void => {
      if (this.failure !== undefined || performance.now() >= end || ledger.sent >= job.messagesMax) return;
      const body = Buffer.from(BODY);
      const sequence = ledger.send();
      writeSequence(body, 0, sequence);
      open++;
      connection.publish(subject, body, (answer) => {
        open--;
        if (isRefusal(answer)) this.failure ??= new Error(`a publish was refused: ${answer}`);
        else ledger.confirm(sequence);
        next();
      });
    };
    for (let place = 0; place < PUBLISHES_OPEN; place++) next();
    await waitUntil(() => this.#broken(connection) || open === 0, job.seconds + 10);
    this.#throwIfBroken();
    return ledger.confirmed;
  }

  async consume(connection: NatsConnection): Promise<void> {
    const deliver = `d.${this.name}`;
    connection.listen(deliver, (body, reply) => {
      if (body.length !== BODY_BYTES) this.failure ??= new Error('a body of another length');
      this.ledger.receive(readSequence(body, 0));
      connection.ack(reply);
    });
    await connection.ask(`$JS.API.CONSUMER.DURABLE.CREATE.${this.name}.c`, {
      stream_name: this.name,
      config: {
        durable_name: 'c',
        deliver_subject: deliver,
        ack_policy: 'explicit',
        max_ack_pending: PENDING_MAX,
      },
    });
  }

  async drain(connection: NatsConnection, job: LoadJob): Promise<number> {
    const { ledger } = this;
    await waitUntil(
      () => this.#broken(connection) || ledger.received >= ledger.confirmed,
      job.drainSecondsMax,
    );
    this.#throwIfBroken();
    return ledger.received;
  }

  /** The last acknowledgements are still under way. */
  async remove(connection: NatsConnection): Promise<void> {
    await sleep(50);
    await connection.ask(`$JS.API.STREAM.DELETE.${this.name}`, {});
  }

  #broken(connection: NatsConnection): boolean {
    this.failure ??= connection.failure;
    return this.failure !== undefined;
  }

  #throwIfBroken(): void {
    if (this.failure !== undefined) throw this.failure;
  }
}

/** Publishes with acknowledgements, then one consumer takes and acknowledges everything. */
export const natsPublish: Load = async ({ job, label }: RunContext) => {
  const connection = await NatsConnection.open(job.port);
  const queue = await WorkQueue.make(connection, label, 1);
  const send = await phase('publish with acknowledgement', job, () => queue.publish(connection, job));
  const drain = await phase('consume + ack', job, async () => {
    await queue.consume(connection);
    return queue.drain(connection, job);
  });
  await queue.remove(connection);
  connection.close();
  const counts = queue.ledger.counts();
  return { phases: [send, drain], counts, drained: counts.received >= counts.confirmed };
};

/** Both at once, a connection each. */
export const natsBoth: Load = (context) => both(context, 1);

/** The same on a stream with three replicas. */
export const natsBothR3: Load = (context) => both(context, 3);

const both = async ({ job, label }: RunContext, replicas: number): ReturnType<Load> => {
  const [sender, receiver] = [await NatsConnection.open(job.port), await NatsConnection.open(job.port)];
  const queue = await WorkQueue.make(sender, label, replicas);
  await queue.consume(receiver);
  const run = await phase('publish and consume at once', job, async () => {
    await queue.publish(sender, job);
    return queue.drain(receiver, job);
  });
  await queue.remove(sender);
  sender.close();
  receiver.close();
  const counts = queue.ledger.counts();
  return { phases: [run], counts, drained: counts.received >= counts.confirmed };
};
