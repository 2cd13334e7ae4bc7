/**
 * That upstreams which are checked when nobody uses them are in use at this node: said to the others, so that the one
 * that checks them leaves alone what any node has heard of. It may be lost: then one check is made for nothing.
 */
import type { NodeHealth } from '../upstreams/upstream-health.ts'

const lookEveryMs = 250
/** Said so often within the time that an upstream may be idle. */
const timesPerIdle = 3

/** The places in it; none where it is no word of ours. */
function placesIn(text: string): readonly string[] {
  const said: unknown = JSON.parse(text)
  if (typeof said !== 'object' || said === null || !('inUse' in said)) return []
  return Array.isArray(said.inUse) ? said.inUse.map(String) : []
}

export class SharedTraffic {
  readonly #say: (text: string) => void
  #health: NodeHealth | null = null
  #timer: NodeJS.Timeout | undefined
  /** When each place was last told of. */
  readonly #toldAt = new Map<string, number>()

  constructor(say: (text: string) => void) {
    this.#say = say
  }

  /** From now on the others hear of what this one hears of. */
  follow(health: NodeHealth): void {
    this.#health = health
    this.#timer = setInterval(() => this.#look(health), lookEveryMs)
    this.#timer.unref()
  }

  hear(text: string): void {
    for (const place of placesIn(text)) this.#health?.board.usedElsewhere(place)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #look(health: NodeHealth): void {
    const now = Date.now()
    for (const { place, idleMs } of health.checkedPlaces()) {
      const toldAt = this.#toldAt.get(place) ?? 0
      if (health.board.heardAt(place) <= toldAt || now - toldAt < idleMs / timesPerIdle) continue
      this.#toldAt.set(place, now)
      // One by one: words have a bound.
      this.#say(JSON.stringify({ inUse: [place] }))
    }
  }
}
