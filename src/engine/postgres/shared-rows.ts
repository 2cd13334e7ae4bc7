/** Owners and holds as rows that all nodes share. Owners include held amounts, because no node knows the others' holds. */
import type { Client } from 'pg'
import { insertOwners, type HoldRow, type SharedOwnerRow } from '../../db/postgres/lock-batch.ts'
import { encodeHold } from '../../ledger/checkpoint.ts'
import { claimId, emptyOwner, type Hold, type Owner, type PastPeriod } from '../../ledger/state.ts'
import { ownerRow } from '../sqlite/commit-queue.ts'
import { storedOwner } from '../sqlite/recovery.ts'

type PastCells = readonly [unit: PastPeriod['unit'], end: number, spent: string, held: string]

function parsePastPeriods(text: string): PastPeriod[] {
  if (text === '[]') return []
  const cells = JSON.parse(text) as PastCells[]
  return cells.map(([unit, end, spent, held]) => ({ unit, end, spent: BigInt(spent), held: BigInt(held) }))
}

function encodePastPeriods(past: readonly PastPeriod[]): string {
  const cells = past.map(({ unit, end, spent, held }): PastCells => [unit, end, String(spent), String(held)])
  return JSON.stringify(cells)
}

export function ownerFromRow(row: SharedOwnerRow): Owner {
  const { held_nanos: held, day_held_nanos: dayHeld, month_held_nanos: monthHeld } = row
  return { ...emptyOwner(), ...storedOwner(row), held, dayHeld, monthHeld, past: parsePastPeriods(row.past) }
}

export function ownerToRow(id: string, owner: Owner): SharedOwnerRow {
  return {
    ...ownerRow(id, owner),
    held_nanos: owner.held,
    day_held_nanos: owner.dayHeld,
    month_held_nanos: owner.monthHeld,
    past: encodePastPeriods(owner.past),
  }
}

/** How far the request had come, as its row says. */
export const markOfRow = ({ mark_input: inputTokens, mark_output: outputTokens }: HoldRow): Hold['mark'] =>
  inputTokens === null || outputTokens === null ? null : { inputTokens, outputTokens }

/** `retired`: when and for how much a hold was charged after its node was retired. */
export function holdRowOf(hold: Hold, retired: { at: number; charge: bigint } | null): Omit<HoldRow, 'node'> {
  return {
    id: hold.id,
    body: encodeHold(hold),
    mark_input: hold.mark?.inputTokens ?? null,
    mark_output: hold.mark?.outputTokens ?? null,
    retired_at: retired?.at ?? null,
    charged_nanos: retired?.charge ?? null,
    claim: hold.claim && retired === null ? claimId(hold.account, hold.claim) : null,
  }
}

const maxKnown = 500_000

/** Owners whose rows this node knows to exist. Rows are never deleted, so each is inserted at most once. */
export class KnownOwners {
  readonly #known = new Set<string>()

  async ensure(client: Client, owners: readonly string[]): Promise<void> {
    const unknown = owners.filter((id) => !this.#known.has(id))
    if (unknown.length === 0) return
    await insertOwners(client, unknown)
    if (this.#known.size > maxKnown) this.#known.clear()
    for (const id of unknown) this.#known.add(id)
  }
}
