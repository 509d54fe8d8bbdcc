/** Listeners of the few events of a call; most have one or two. */
export class Listeners<Event> {
  readonly #byEvent = new Map<Event, (() => void)[]>();

  add(event: Event, listener: () => void): void {
    const present = this.#byEvent.get(event);
    if (present === undefined) this.#byEvent.set(event, [listener]);
    else present.push(listener);
  }

  emit(event: Event): void {
    for (const listener of this.#byEvent.get(event) ?? []) listener();
  }
}
