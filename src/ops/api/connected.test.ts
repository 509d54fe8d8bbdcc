import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { whileConnected } from './connected.js';

it('tells of a client that is gone, and leaves nothing on the socket of one that stays', async () => {
  const socket = new EventEmitter();
  let gone = 0;
  const leave = (): void => {
    gone++;
  };
  for (let i = 0; i < 100; i++) await whileConnected(socket, leave, () => Promise.resolve(i));
  await expect(whileConnected(socket, leave, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(socket.listenerCount('close')).toBe(0);
  await whileConnected(socket, leave, () => Promise.resolve(socket.emit('close')));
  expect(gone).toBe(1);
});
