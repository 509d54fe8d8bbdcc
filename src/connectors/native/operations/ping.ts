import type { NativeService } from '../service.js';

/**
 * The API level this answers as. Clients of the contract's third generation warn about anything below 3.0; the product's
 * own version stands behind the plus sign.
 */
const API_VERSION = '3.0.0';

/** Ping: who answers, and since when. Open to everyone. */
export function ping(service: NativeService) {
  return async (): Promise<{
    host: string;
    version: string;
    serverStartTime: number;
    serverUpTimeSeconds: number;
  }> => ({
    host: service.hostName,
    version: `${API_VERSION}+polymq.${service.version}`,
    serverStartTime: Math.floor(service.startedAt / 1000),
    serverUpTimeSeconds: Math.floor((service.clock.now() - service.startedAt) / 1000),
  });
}
