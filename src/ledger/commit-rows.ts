/** The rows of commits as text, which a store creates and another thread receives faster than objects. */
import type { Transfer } from './entries.ts'
import type { LedgerEvent, Settled } from './events.ts'

/** A transfer with the number of its commit. */
export interface CommittedTransfer {
  readonly seq: number
  readonly transfer: Transfer
}

/** The rows that belong to some commits: JSON arrays of the cells of `entryCells` and `billCells`. */
export interface CommitRows {
  readonly entries: string
  readonly bills: string
  /** How many bills of the commits so far may be without a row, because it was deleted for its age. */
  readonly deletedBills: number
}

/** The money columns of a request's row. */
export interface StoredBill {
  readonly id: string
  readonly cost: bigint
  readonly input: number
  readonly cachedInput: number
  readonly output: number
  readonly reasoning: number
}

/** Whether a request row must have the costs of this event. */
export function hasBill(event: LedgerEvent): event is Settled {
  return event.kind === 'settled' && event.charge > 0n
}

export function billOf({
  id,
  charge,
  usage: { input, cachedInput, output, reasoning },
}: Settled): StoredBill {
  return { id, cost: charge, input, cachedInput, output, reasoning }
}

type Cell = string | number | null

export function entryCells({ seq, transfer }: CommittedTransfer): Cell[] {
  const { at, debit, credit, amount, kind, account, ref, reason, source } = transfer
  return [seq, at, debit, credit, String(amount), kind, account, ref, reason, source]
}

export function parseEntries(text: string): CommittedTransfer[] {
  const rows = JSON.parse(text) as [seq: number, at: number, ...texts: string[]][]
  return rows.map(
    ([seq, at, debit = '', credit = '', amount = '', kind, account = '', ref = '', reason, source]) => {
      const about = { kind: kind as Transfer['kind'], account, ref, reason: reason ?? null }
      const transfer = {
        at,
        debit,
        credit,
        amount: BigInt(amount),
        ...about,
        source: source as Transfer['source'],
      }
      return { seq, transfer }
    },
  )
}

export function billCells({ id, cost, input, cachedInput, output, reasoning }: StoredBill): Cell[] {
  return [id, String(cost), input, cachedInput, output, reasoning]
}

export function parseBills(text: string): StoredBill[] {
  const rows = JSON.parse(text) as [id: string, cost: string, ...tokens: [number, number, number, number]][]
  return rows.map(([id, cost, input, cachedInput, output, reasoning]) => {
    return { id, cost: BigInt(cost), input, cachedInput, output, reasoning }
  })
}
