/**
 * That the ledger does not add up is found by the one node that watches it, and concerns all. It is said with every look,
 * and to each node that has just come; it ends with the processes that know it, when somebody has put it right.
 */
import type { LedgerVerdict } from '../../http/house.ts'
import type { WatchListener } from '../verify-thread.ts'

/** What was found is cut to this: words have a bound, and whoever looks into it runs `sluice verify`. */
const findingsMost = 5
const findingMost = 300

function textOf({ drift, overrun, findings, ...rest }: LedgerVerdict): string {
  const told = findings.slice(0, findingsMost).map((finding) => finding.slice(0, findingMost))
  return JSON.stringify({
    distrust: { ...rest, drift: drift.toString(), overrun: overrun.toString(), findings: told },
  })
}

/** `verdict`: null where none is said. `isNew`: who says it has just come, and wants to hear what others know. */
function wordsIn(text: string): { verdict: LedgerVerdict | null; isNew: boolean } {
  const said: unknown = JSON.parse(text)
  if (typeof said !== 'object' || said === null) return { verdict: null, isNew: false }
  const isNew = 'isNew' in said && said.isNew === true
  if (!('distrust' in said)) return { verdict: null, isNew }
  const { drift, overrun, ...rest } = said.distrust as Record<'drift' | 'overrun', string> &
    Omit<LedgerVerdict, 'drift' | 'overrun'>
  return { verdict: { ...rest, drift: BigInt(drift), overrun: BigInt(overrun) }, isNew }
}

export class SharedDistrust {
  readonly #say: (text: string) => void
  #listener: WatchListener | null = null
  /** The last bad verdict, of this node or another. */
  #bad: LedgerVerdict | null = null

  constructor(say: (text: string) => void) {
    this.#say = say
  }

  /** What this listener is told from now on, others are told too when it is bad; and it is told what others found. */
  over(listener: WatchListener): WatchListener {
    this.#listener = listener
    if (this.#bad) listener.verdict(this.#bad)
    return {
      verdict: (verdict) => {
        if (!verdict.ok) {
          this.#bad = verdict
          this.#say(textOf(verdict))
        }
        listener.verdict(verdict)
      },
      failed: (error) => listener.failed(error),
    }
  }

  /** Takes over what another node has said, and says it to one that has just come. */
  hear(text: string): void {
    const { verdict, isNew } = wordsIn(text)
    if (isNew && this.#bad) this.#say(textOf(this.#bad))
    if (!verdict) return
    this.#bad = verdict
    this.#listener?.verdict(verdict)
  }
}
