/** Owners as the rows that all nodes share: what is held of them included, for no node knows the others' holds. */
import type { SharedOwnerRow } from '../../db/postgres/ledger-rows.ts'
import { emptyOwner, type Owner, type PastPeriod } from '../../ledger/state.ts'
import { ownerRow } from '../ledger/commit-queue.ts'
import { storedOwner } from '../ledger/recovery.ts'

type PastCells = readonly [unit: PastPeriod['unit'], end: number, spent: string, held: string]

function pastOf(text: string): PastPeriod[] {
  if (text === '[]') return []
  const cells = JSON.parse(text) as PastCells[]
  return cells.map(([unit, end, spent, held]) => ({ unit, end, spent: BigInt(spent), held: BigInt(held) }))
}

function textOf(past: readonly PastPeriod[]): string {
  const cells = past.map(({ unit, end, spent, held }): PastCells => [unit, end, String(spent), String(held)])
  return JSON.stringify(cells)
}

export function ownerOfSharedRow(row: SharedOwnerRow): Owner {
  const { held_nanos: held, day_held_nanos: dayHeld, month_held_nanos: monthHeld } = row
  return { ...emptyOwner(), ...storedOwner(row), held, dayHeld, monthHeld, past: pastOf(row.past) }
}

export function sharedRowOf(id: string, owner: Owner): SharedOwnerRow {
  return {
    ...ownerRow(id, owner),
    held_nanos: owner.held,
    day_held_nanos: owner.dayHeld,
    month_held_nanos: owner.monthHeld,
    past: textOf(owner.past),
  }
}
