import { setFlagsFromString } from 'node:v8';

/**
 * V8 doubles the young generation whenever much of it survives a collection, and what a program loads survives: it would be as
 * large after the start as it should be under load, and stay so while nobody does anything. Imported first, before what is large.
 */
setFlagsFromString('--semi-space-growth-factor=1');

/** From now on it grows as it is used: V8's default. */
export function growWithUse(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
