/**
 * What nodes tell each other of their circuits: each change at once, and everything that is known to a node that has
 * just come. It may be lost: who has missed that an upstream is back finds out by its own probe.
 */
import { wordBytesMost } from '../../db/postgres/change-feed.ts'
import type { HealthBoard } from '../../health/board.ts'
import type { CircuitNews } from '../../health/observation.ts'

/** `isNew`: who says it has just come, and wants to hear what the others know. */
interface CircuitWords {
  readonly isNew: boolean
  readonly news: readonly CircuitNews[]
}

/** Changes of one moment travel together. */
const gatherMs = 20
/** What an upstream has said of itself is cut to this: words have a bound. */
const whyMost = 500

/** Null where it is none of ours, of another release perhaps. */
function wordsIn(text: string): CircuitWords | null {
  const said: unknown = JSON.parse(text)
  const isOurs = typeof said === 'object' && said !== null && 'news' in said && Array.isArray(said.news)
  return isOurs ? (said as CircuitWords) : null
}

function trimmed({ key, circuit }: CircuitNews): CircuitNews {
  return { key, circuit: { ...circuit, why: circuit.why.slice(0, whyMost) } }
}

/** As few texts as hold them all. */
function* textsOf(isNew: boolean, all: readonly CircuitNews[]): Generator<string> {
  const textOf = (news: readonly CircuitNews[]): string =>
    JSON.stringify({ isNew, news } satisfies CircuitWords)
  let news: CircuitNews[] = []
  for (const each of all.map(trimmed)) {
    if (news.length > 0 && Buffer.byteLength(textOf([...news, each])) > wordBytesMost) {
      yield textOf(news)
      news = []
    }
    news.push(each)
  }
  if (news.length > 0 || isNew) yield textOf(news)
}

export class SharedCircuits {
  readonly #say: (text: string) => void
  #board: HealthBoard | null = null
  #gathered = new Map<string, CircuitNews>()
  #isAdopting = false

  constructor(say: (text: string) => void) {
    this.#say = say
  }

  /** From now on this board and those of the other nodes know the same. */
  follow(board: HealthBoard): void {
    this.#board = board
    board.listen((news) => {
      if (!this.#isAdopting) this.#gather(news)
    })
    this.tellAll()
  }

  /** Says everything that is known here, and asks the others for what they know. */
  tellAll(): void {
    if (this.#board) this.#tell(true, this.#board.known())
  }

  /** Takes over what another node has said. */
  hear(text: string): void {
    const words = wordsIn(text)
    if (this.#board === null || words === null) return
    this.#isAdopting = true
    try {
      this.#board.adopt(words.news)
    } finally {
      this.#isAdopting = false
    }
    if (words.isNew) this.#tell(false, this.#board.known())
  }

  #gather(news: CircuitNews): void {
    if (this.#gathered.size === 0) {
      setTimeout(() => {
        const gathered = [...this.#gathered.values()]
        this.#gathered = new Map()
        this.#tell(false, gathered)
      }, gatherMs)
    }
    this.#gathered.set(news.key, news)
  }

  #tell(isNew: boolean, news: readonly CircuitNews[]): void {
    for (const text of textsOf(isNew, news)) this.#say(text)
  }
}
