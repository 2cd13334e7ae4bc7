/** What an earlier process of this node has left open: ended as it was settled, else at its last mark. */
import type { Catalog } from '../../catalog/catalog.ts'
import type { Db } from '../../db/db.ts'
import type { LocalJournal } from '../../db/sqlite/local-journal.ts'
import { openHoldsOf } from '../../db/postgres/nodes.ts'
import { decodeHold } from '../../ledger/checkpoint.ts'
import type { Hold } from '../../ledger/state.ts'
import type { NodeRates } from '../../limits/node-rates.ts'
import { subjectsOf } from '../../limits/rate-limiter.ts'
import { onlyUpstreamOf } from '../ledger/authority.ts'
import { noCaps } from '../ledger/caller-limits.ts'
import { markOf } from './ledger/batch.ts'
import type { NodeJournal } from './node-journal.ts'
import type { SharedLedger } from './shared-ledger.ts'

/** Whoever was answered by a process that is gone takes no slot any more. */
export function freeIn(rates: NodeRates, hold: Hold): void {
  rates.free(hold.id, subjectsOf(hold))
}

export interface LeftOpen {
  readonly db: Db
  readonly id: string
  readonly local: LocalJournal
  readonly journal: NodeJournal
  readonly ledger: SharedLedger
  readonly rates: NodeRates
  readonly catalog: Catalog
  readonly now: () => number
}

/** How many requests it has ended. */
export async function endLeftOpen(parts: LeftOpen): Promise<number> {
  const { db, id: node, local, journal, ledger, rates, catalog, now } = parts
  const rows = await openHoldsOf(db, node)
  for (const row of rows) {
    const hold = decodeHold(row.body, markOf(row))
    ledger.state.holds.set(row.id, hold)
    freeIn(rates, hold)
  }
  for (const { id, input, output } of local.content.marks)
    ledger.own.mark(id, { at: now(), inputTokens: input, outputTokens: output })
  const answer = (): undefined => undefined
  for (const settlement of journal.settlements()) {
    const { servedModel } = settlement.ask
    const otherPrice = servedModel === null ? undefined : catalog.model(servedModel)?.price
    ledger.add({ kind: 'settle', ...settlement, otherPrice, caps: noCaps, answer, isKept: true })
  }
  for (const [id, { model }] of ledger.state.holds) {
    const upstream = onlyUpstreamOf(catalog.model(model))
    ledger.add({
      kind: 'expire',
      id,
      at: now(),
      caps: noCaps,
      owners: null,
      upstream,
      isRetired: false,
      answer,
    })
  }
  await ledger.drained()
  journal.forgetAllBut(new Set())
  return rows.length
}
