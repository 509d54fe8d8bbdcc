import { LocalCoordinator } from '../../src/cluster/local/coordinator.js';
import { coordinatorContract } from './coordinator.contract.js';

coordinatorContract({ name: 'local', create: async () => new LocalCoordinator({ id: 'here' }) });
