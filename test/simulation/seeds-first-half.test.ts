import { simulationOfSeeds } from './seeds.js';

simulationOfSeeds(0);
