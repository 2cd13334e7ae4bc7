/** This node's own disk: marks of its running streams, and settlements that the database could not take yet. */
import type { LocalJournal } from '../../db/sqlite/local-journal.ts'
import type { SettleAsk } from '../../relay/ledger-client.ts'
import { costOf, type Price, type Usage } from '../../ledger/price.ts'
import type { Hold } from '../../ledger/state.ts'
import type { SettleWork } from './work.ts'

/** A settlement as text: what the work has that is not made anew. */
interface KeptSettlement {
  readonly ask: SettleAsk
  readonly at: number
  readonly kept: { readonly sealed: string | null; readonly isWhole: boolean } | null
}

function costNow({ price, factorPpm }: Hold, usage: Usage, otherPrice: Price | undefined): bigint {
  const own = costOf(price, usage, factorPpm)
  const other = otherPrice ? costOf(otherPrice, usage, factorPpm) : own
  return other < own ? other : own
}

export class NodeJournal {
  readonly #local: LocalJournal
  /** Requests of which there is a line on the disk. */
  readonly #written: Set<string>

  constructor(local: LocalJournal) {
    this.#local = local
    const { marks, settlements } = local.content
    this.#written = new Set([...marks, ...settlements].map(({ id }) => id))
  }

  /** Resolves when the mark is on the disk. */
  mark(id: string, input: number, output: number): Promise<void> {
    this.#written.add(id)
    return this.#local.write(['mark', id, input, output])
  }

  /**
   * Keeps a settlement until the database takes it, and answers it then and there: what it costs by its usage, for what
   * is available only the database knows.
   */
  async keep(work: SettleWork, held: Hold | undefined): Promise<void> {
    const { ask, at, kept } = work
    const sealed = kept?.sealed ? Buffer.from(kept.sealed).toString('base64') : null
    const body: KeptSettlement = { ask, at, kept: kept && { sealed, isWhole: kept.isWhole } }
    this.#written.add(ask.id)
    await this.#local.write(['settle', ask.id, JSON.stringify(body)])
    work.answer(held && ask.usage ? costNow(held, ask.usage, work.otherPrice) : 0n)
  }

  /** The settlements that an earlier process has kept. */
  settlements(): Pick<SettleWork, 'ask' | 'at' | 'kept'>[] {
    return this.#local.content.settlements.map(({ body }) => {
      const { ask, at, kept } = JSON.parse(body) as KeptSettlement
      const sealed = kept?.sealed ? Buffer.from(kept.sealed, 'base64') : null
      return { ask, at, kept: kept && { sealed, isWhole: kept.isWhole } }
    })
  }

  /** These requests have ended in the database. */
  forget(ids: readonly string[]): void {
    for (const id of ids) if (this.#written.delete(id)) this.#local.note(['forget', id])
  }

  /** Nothing of any request but these is needed. */
  forgetAllBut(ids: ReadonlySet<string>): void {
    this.forget([...this.#written].filter((id) => !ids.has(id)))
  }
}
