/** Chance that can be repeated: the same seed, the same run (mulberry32). */

export class Chance {
  #state: number

  constructor(seed: number) {
    this.#state = Math.imul(seed, 0x9e3779b1) | 0
  }

  /** From 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from 0, below `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  happens(probability: number): boolean {
    return this.next() < probability
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error('There is nothing to pick from.')
    return item
  }
}
