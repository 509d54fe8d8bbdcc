import { BrokerError } from '../../core/errors.js';
import type { Bus, BusHandlers, BusStream, Member } from '../contract.js';

/** The bus of a single machine: services may be registered, but there is nobody to call. */
export class LocalBus implements Bus {
  readonly #services = new Set<string>();

  async request(member: Member): Promise<Uint8Array> {
    throw noPeer(member);
  }

  async open(member: Member): Promise<BusStream> {
    throw noPeer(member);
  }

  serve(service: string, _handlers: BusHandlers): () => void {
    if (this.#services.has(service))
      throw new BrokerError('already-exists', `service ${service} is registered`);
    this.#services.add(service);
    return () => void this.#services.delete(service);
  }

  async close(): Promise<void> {
    this.#services.clear();
  }
}

function noPeer(member: Member): BrokerError {
  return new BrokerError('unavailable', `there is no member ${member.id}: this broker runs alone`);
}
