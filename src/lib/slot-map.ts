/**
 * A slot map: slots are reused, keys are not, so an old key, such as that of a duplicate response, finds nothing. A Map
 * would also work, but its outgrown tables keep the garbage collector from freeing requests early: docs/decisions/0026-request-objects-in-the-young-generation.md.
 */
/** A key is its slot plus `maxSlots` times the number of earlier uses of the slot; exact for 2^33 uses. */
const maxSlots = 2 ** 20

export class SlotMap<Item> implements Iterable<Item> {
  readonly #items: (Item | null)[] = []
  /** By slot: the key of its current or last item. */
  readonly #keys: number[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#items.length - this.#free.length
  }

  /** Inserts an item and returns its key. */
  insert(item: Item): number {
    const free = this.#free.pop()
    if (free === undefined) {
      const slot = this.#items.push(item) - 1
      if (slot >= maxSlots) throw new RangeError('The slot map is full.')
      this.#keys.push(slot)
      return slot
    }
    const key = (this.#keys[free] ?? 0) + maxSlots
    this.#items[free] = item
    this.#keys[free] = key
    return key
  }

  /** Removes and returns the item of a key; undefined if it was removed before or never existed. */
  remove(key: number): Item | undefined {
    const slot = key % maxSlots
    if (this.#keys[slot] !== key) return undefined
    const item = this.#items[slot] ?? undefined
    if (item === undefined) return undefined
    this.#items[slot] = null
    this.#free.push(slot)
    return item
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (const item of this.#items) if (item !== null) yield item
  }
}
