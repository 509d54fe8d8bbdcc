/** One turn of the event loop, so that whatever came meanwhile is served. It takes no time and needs no clock. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
