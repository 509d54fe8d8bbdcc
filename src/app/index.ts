/** The broker as a library: `startPolymq` runs one in this process. */
export { startPolymq, type RunningBroker, type StartOptions } from './start.js';
export type { ConfigOverrides } from './read-config.js';
export type { Config } from './settings.js';
