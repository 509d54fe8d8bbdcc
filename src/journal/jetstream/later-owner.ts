import { BrokerError } from '../../core/errors.js';

/** This one's claim was taken by somebody else before it could make use of it: it has to claim again. */
export class LaterOwner extends BrokerError {
  constructor(what: string) {
    super('unavailable', `${what} to a later owner`);
    this.name = 'LaterOwner';
  }
}
