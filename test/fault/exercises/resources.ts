import { SqsConnection, SqsError } from '../../../bench/client/sqs.js';
import { untilDead, type Exercise, type Life } from '../exercise.js';
import type { Timeline } from '../timeline.js';
import { Violation } from '../track.js';

/** Queues that are made and deleted: what was confirmed stays as it was. */
export class ResourceExercise implements Exercise {
  readonly name = 'resources';
  readonly #timeline: Timeline;
  /** What must be after the next restart; undecided ones are in neither. */
  readonly #present = new Set<string>();
  readonly #absent = new Set<string>();
  #changes = 0;
  #next = 0;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  async setUp(): Promise<void> {
    // Everything is made under load.
  }

  async load(life: Life, isDead: () => boolean): Promise<void> {
    const connection = await SqsConnection.open(life.port('aws'));
    await untilDead(isDead, async () => {
      const name = `resource-${this.#next++}`;
      await this.#create(connection, name);
      if (life.random.below(4) > 0) await this.#delete(connection, name);
    });
  }

  killed(): void {
    // Confirmed creations and deletions are durable when they are answered.
  }

  async verify(life: Life): Promise<void> {
    const connection = await SqsConnection.open(life.port('aws'));
    for (const name of this.#present) {
      if (!(await exists(connection, name)))
        throw new Violation(`resources: queue ${name} was made and is gone`);
      await this.#delete(connection, name);
    }
    for (const name of this.#absent) {
      if (await exists(connection, name))
        throw new Violation(`resources: queue ${name} was deleted and is back`);
    }
    connection.close();
    this.#absent.clear();
  }

  summary(): string {
    return `${this.#changes} queues made and deleted`;
  }

  async #create(connection: SqsConnection, name: string): Promise<void> {
    const startedAt = this.#timeline.now();
    await connection.createQueue(name);
    this.#timeline.confirmed(startedAt);
    this.#present.add(name);
    this.#changes++;
  }

  async #delete(connection: SqsConnection, name: string): Promise<void> {
    this.#present.delete(name);
    const startedAt = this.#timeline.now();
    await connection.call('DeleteQueue', { QueueUrl: `http://127.0.0.1/000000000000/${name}` });
    this.#timeline.confirmed(startedAt);
    this.#absent.add(name);
    this.#changes++;
  }
}

async function exists(connection: SqsConnection, name: string): Promise<boolean> {
  try {
    await connection.call('GetQueueUrl', { QueueName: name });
    return true;
  } catch (error) {
    if (error instanceof SqsError && error.status === 400) return false;
    throw error;
  }
}
