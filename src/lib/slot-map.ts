/**
 * A slot map: slots are reused, keys are not, so an old key, such as that of a duplicate response, finds nothing. A Map
 * would also work, but its outgrown tables keep the garbage collector from freeing requests early: docs/decisions/0026-request-objects-in-the-young-generation.md.
 *
 * Keys count up, and each takes the slot of its lowest bits; one whose slot is taken is passed over. They stay small
 * integers: V8 allocates larger ones, and at the first of them discards the code that it has optimised for small ones.
 */
/** Keys start anew after this many, which takes more than a day at ten thousand a second. */
const maxKeys = 2 ** 30
const initialSlots = 16

export class SlotMap<Item> implements Iterable<Item> {
  /** A power of two, at most half of them taken. */
  #items: (Item | null)[] = Array.from({ length: initialSlots }, () => null)
  /** By slot: the key of its current or last item. */
  #keys: number[] = Array.from({ length: initialSlots }, () => -1)
  #nextKey = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Inserts an item and returns its key. */
  insert(item: Item): number {
    if (this.#size * 2 === this.#items.length) this.#grow()
    const items = this.#items
    const slots = items.length - 1
    let key = this.#nextKey
    while (items[key & slots] !== null) key = (key + 1) % maxKeys
    this.#nextKey = (key + 1) % maxKeys
    items[key & slots] = item
    this.#keys[key & slots] = key
    this.#size += 1
    return key
  }

  /** Removes and returns the item of a key; undefined if it was removed before or never existed. */
  remove(key: number): Item | undefined {
    const slot = key & (this.#items.length - 1)
    if (this.#keys[slot] !== key) return undefined
    const item = this.#items[slot] ?? undefined
    if (item === undefined) return undefined
    this.#items[slot] = null
    this.#size -= 1
    return item
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (const item of this.#items) if (item !== null) yield item
  }

  /** Keys that differ in their lowest bits still do with one bit more. */
  #grow(): void {
    const [items, keys] = [this.#items, this.#keys]
    const length = 2 * items.length
    this.#items = Array.from({ length }, () => null)
    this.#keys = Array.from({ length }, () => -1)
    for (const [slot, item] of items.entries()) {
      const key = keys[slot] ?? -1
      if (item === null) continue
      this.#items[key & (length - 1)] = item
      this.#keys[key & (length - 1)] = key
    }
  }
}
