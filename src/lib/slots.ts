/**
 * What comes and goes with every request, in places that are used again, under numbers that are not: who comes with an
 * old one, for instance with a second answer, finds nothing. A Map would do, but for the collector, which its outgrown
 * tables keep from forgetting a request: docs/decisions/0026-requests-die-young.md.
 */
/** A number is its place and, times this, how often the place was used before: 2^33 times, until numbers are no longer whole. */
const mostPlaces = 2 ** 20

export class Slots<Item> implements Iterable<Item> {
  readonly #items: (Item | null)[] = []
  /** By place: the number under which its item is, or was last. */
  readonly #numbers: number[] = []
  readonly #free: number[] = []

  /** How many are in their places. */
  get size(): number {
    return this.#items.length - this.#free.length
  }

  /** Puts one in; gives the number by which it is taken out again. */
  add(item: Item): number {
    const free = this.#free.pop()
    if (free === undefined) {
      const place = this.#items.push(item) - 1
      if (place >= mostPlaces) throw new RangeError('Too much waits at once.')
      this.#numbers.push(place)
      return place
    }
    const number = (this.#numbers[free] ?? 0) + mostPlaces
    this.#items[free] = item
    this.#numbers[free] = number
    return number
  }

  /** Takes out what was put in under this number; undefined where it is out already, or never was in. */
  take(number: number): Item | undefined {
    const place = number % mostPlaces
    if (this.#numbers[place] !== number) return undefined
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
