/** Numbers of handles a new heap has room for. */
const FIRST_CAPACITY = 64;

/**
 * Deadlines of many things, each known by a small whole number (its handle): an indexed binary heap in typed arrays.
 * Setting, moving and removing cost O(log n); a handle without a deadline costs four bytes.
 */
export class DeadlineHeap {
  #handles = new Int32Array(FIRST_CAPACITY);
  #deadlines = new Float64Array(FIRST_CAPACITY);
  // Place in the heap + 1 of each handle; 0 = has no deadline.
  #places = new Int32Array(FIRST_CAPACITY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Earliest deadline; Infinity when empty. */
  get next(): number {
    return this.#size === 0 ? Infinity : (this.#deadlines[0] as number);
  }

  /** The deadline of `handle`; undefined when it has none. */
  of(handle: number): number | undefined {
    const place = this.#places[handle] ?? 0;
    return place === 0 ? undefined : this.#deadlines[place - 1];
  }

  /** Sets or moves the deadline of `handle`. */
  set(handle: number, deadline: number): void {
    if (handle >= this.#places.length) this.#growPlaces(handle);
    const place = this.#places[handle] ?? 0;
    if (place !== 0) {
      const at = place - 1;
      const before = this.#deadlines[at] as number;
      this.#deadlines[at] = deadline;
      if (deadline < before) this.#up(at);
      else this.#down(at);
      return;
    }
    if (this.#size === this.#handles.length) this.#growHeap();
    const at = this.#size++;
    this.#handles[at] = handle;
    this.#deadlines[at] = deadline;
    this.#places[handle] = at + 1;
    this.#up(at);
  }

  /** Forgets the deadline of `handle`; fine when it has none. */
  remove(handle: number): void {
    const place = this.#places[handle] ?? 0;
    if (place === 0) return;
    const at = place - 1;
    this.#places[handle] = 0;
    const last = --this.#size;
    if (at === last) return;
    const moved = this.#handles[last] as number;
    this.#handles[at] = moved;
    this.#deadlines[at] = this.#deadlines[last] as number;
    this.#places[moved] = at + 1;
    this.#up(at);
    this.#down((this.#places[moved] ?? 1) - 1);
  }

  /** Removes and returns a handle due at or before `now`, earliest first; -1 when there is none. */
  pop(now: number): number {
    if (this.#size === 0 || (this.#deadlines[0] as number) > now) return -1;
    const handle = this.#handles[0] as number;
    this.remove(handle);
    return handle;
  }

  /** Visits all, in no order. */
  forEach(visit: (handle: number, deadline: number) => void): void {
    for (let i = 0; i < this.#size; i++) visit(this.#handles[i] as number, this.#deadlines[i] as number);
  }

  #up(from: number): void {
    const handles = this.#handles;
    const deadlines = this.#deadlines;
    const places = this.#places;
    const handle = handles[from] as number;
    const deadline = deadlines[from] as number;
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      const above = deadlines[parent] as number;
      if (above <= deadline) break;
      const moved = handles[parent] as number;
      handles[at] = moved;
      deadlines[at] = above;
      places[moved] = at + 1;
      at = parent;
    }
    handles[at] = handle;
    deadlines[at] = deadline;
    places[handle] = at + 1;
  }

  #down(from: number): void {
    const handles = this.#handles;
    const deadlines = this.#deadlines;
    const places = this.#places;
    const size = this.#size;
    const handle = handles[from] as number;
    const deadline = deadlines[from] as number;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && (deadlines[child + 1] as number) < (deadlines[child] as number)) child++;
      const below = deadlines[child] as number;
      if (below >= deadline) break;
      const moved = handles[child] as number;
      handles[at] = moved;
      deadlines[at] = below;
      places[moved] = at + 1;
      at = child;
    }
    handles[at] = handle;
    deadlines[at] = deadline;
    places[handle] = at + 1;
  }

  #growHeap(): void {
    const capacity = this.#handles.length * 2;
    const handles = new Int32Array(capacity);
    handles.set(this.#handles);
    this.#handles = handles;
    const deadlines = new Float64Array(capacity);
    deadlines.set(this.#deadlines);
    this.#deadlines = deadlines;
  }

  #growPlaces(handle: number): void {
    // By a quarter: handles are dense, and doubling would waste most at the depths where memory counts.
    const capacity = Math.max(handle + 1, Math.ceil(this.#places.length * 1.25));
    const places = new Int32Array(capacity);
    places.set(this.#places);
    this.#places = places;
  }
}
