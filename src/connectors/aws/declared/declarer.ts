import type { AwsServices, Call, Operation } from '../operation.js';

/** Carries out operations for the configuration file: the same checks and effects as for a client of the account. */
export class Declarer {
  readonly services: AwsServices;

  constructor(services: AwsServices) {
    this.services = services;
  }

  run(operation: Operation, input: Readonly<Record<string, unknown>>): Promise<unknown> {
    const { services } = this;
    const call: Call = {
      services,
      client: undefined,
      input,
      strings: undefined,
      senderId: 'configuration',
      signed: true,
      origin: services.origin(),
      path: '/',
      header: () => undefined,
      whileConnected: (work) => work(new AbortController().signal),
    };
    return Promise.resolve(operation.run(call));
  }
}

/** Runs `work`; a failure names the place of the configuration that asked for it. */
export async function declaring(place: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new Error(`${place}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
