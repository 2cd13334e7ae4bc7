/**
 * What comes and goes with every request, in numbered places that are used again. A Map or Set would do, but for the
 * collector, which their outgrown tables keep from forgetting a request: docs/decisions/0022-requests-die-young.md.
 */
export class Slots<Item> implements Iterable<Item> {
  readonly #items: (Item | null)[] = []
  readonly #free: number[] = []

  /** How many are in their places. */
  get size(): number {
    return this.#items.length - this.#free.length
  }

  /** Puts one in; gives the number of its place, by which it is taken out again. */
  add(item: Item): number {
    const free = this.#free.pop()
    if (free === undefined) return this.#items.push(item) - 1
    this.#items[free] = item
    return free
  }

  /** Takes out what is in this place; undefined where nothing is. */
  take(place: number): Item | undefined {
    const item = this.#items[place] ?? undefined
    if (item === undefined) return undefined
    this.#items[place] = null
    this.#free.push(place)
    return item
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (const item of this.#items) if (item !== null) yield item
  }
}
