/**
 * One batch of a node: the same reducer as on one node alone, over a state of only those rows that the batch touches.
 * Nothing here is kept when the transaction fails; what it comes to is taken over by the node when it holds.
 */
import type { EntryRow, KeptRow, RequestRow } from '../../../db/messages.ts'
import type { HoldRow, LockedRows } from '../../../db/postgres/ledger-rows.ts'
import type { BatchRows } from '../../../db/postgres/write-batch.ts'
import { LedgerBroken } from '../../../ledger/apply.ts'
import { decodeHold, encodeHold } from '../../../ledger/checkpoint.ts'
import { endTrial } from '../../../ledger/end-trial.ts'
import { books } from '../../../ledger/entries.ts'
import type { LedgerEvent } from '../../../ledger/events.ts'
import { costOf } from '../../../ledger/price.ts'
import {
  accountOwner,
  claimName,
  emptyState,
  keyOwner,
  modelOwner,
  ownerOf,
  type Hold,
  type LedgerState,
} from '../../../ledger/state.ts'
import * as ledger from '../../../ledger/operations.ts'
import { goneOutcome } from '../../ledger/authority.ts'
import { entryRowsOf } from '../../ledger/commit-queue.ts'
import { requestRow } from '../../ledger/request-row.ts'
import { countsModel, type OwnHolds } from '../batch-needs.ts'
import { ownerOfSharedRow, sharedRowOf } from '../owner-rows.ts'
import type { CreditWork, ExpireWork, ExtendWork, HoldWork, SettleWork, TrialWork, Work } from '../work.ts'

/** How far the request had come, as its row says. */
export const markOf = ({ mark_input: inputTokens, mark_output: outputTokens }: HoldRow): Hold['mark'] =>
  inputTokens === null || outputTokens === null ? null : { inputTokens, outputTokens }

export type Written = Omit<BatchRows, 'seq' | 'node' | 'commit' | 'areRequestsKnown'>

export class Batch {
  readonly state: LedgerState = emptyState()
  readonly events: LedgerEvent[] = []
  readonly entries: EntryRow[] = []
  readonly requests: RequestRow[] = []
  readonly kept: KeptRow[] = []
  /** To be said when the batch holds. */
  readonly answers: (() => void)[] = []
  readonly ended = new Set<string>()
  readonly #own: OwnHolds
  readonly #touchedOwners = new Set<string>()
  readonly #openedHolds = new Set<string>()
  readonly #touchedHolds = new Set<string>()
  /** Holds whose node was retired, with what they were charged: as loaded, and as of this batch. */
  readonly #late = new Map<string, HoldRow>()
  readonly #retired: Omit<HoldRow, 'node'>[] = []
  readonly #keptClaims: Set<string>

  constructor(own: OwnHolds, rows: LockedRows) {
    this.#own = own
    for (const row of rows.owners) this.state.owners.set(row.id, ownerOfSharedRow(row))
    for (const row of rows.holds) {
      if (row.retired_at !== null) this.#late.set(row.id, row)
      else this.state.holds.set(row.id, decodeHold(row.body, markOf(row)))
    }
    for (const { body, claim } of rows.claimed) this.state.claims.set(claim, decodeHold(body, null))
    this.#keptClaims = new Set(rows.kept)
    for (const { ref, debit, amount_nanos: amount } of rows.credits) {
      this.state.credits.set(ref, debit === books.funding ? amount : -amount)
    }
  }

  /** Carries out the works in their order, with all marks that the database has not heard of. */
  run(works: readonly Work[]): void {
    for (const [id, mark] of this.#own.marks) {
      if (!this.#held(id)) continue
      const event = ledger.mark(this.state, { id, ...mark })
      if (!event) continue
      this.events.push(event)
      this.#touchedHolds.add(id)
    }
    for (const work of works) this.#step(work)
  }

  #step(work: Work): void {
    switch (work.kind) {
      case 'hold':
        return this.#hold(work)
      case 'extend':
        return this.#extend(work)
      case 'settle':
        return this.#settle(work)
      case 'expire':
        return this.#expire(work)
      case 'credit':
        return this.#credit(work)
      case 'trial':
        return this.#endTrial(work)
      case 'row':
        this.requests.push(work.row)
    }
  }

  /** An open hold in this batch's state: a copy of the node's own, or one that was loaded. */
  #held(id: string): Hold | undefined {
    const held = this.state.holds.get(id)
    if (held || this.ended.has(id)) return held
    const own = this.#own.holds.get(id)
    if (!own) return undefined
    const copy = { ...own }
    this.state.holds.set(id, copy)
    return copy
  }

  #record(event: LedgerEvent, { account, key }: { account: string; key: string | null }): void {
    this.events.push(event)
    this.entries.push(...entryRowsOf(event, account))
    this.#touchedOwners.add(accountOwner(account))
    if (key !== null) this.#touchedOwners.add(keyOwner(key))
  }

  #hold({ operation, answer }: HoldWork): void {
    const { id, account, key, model, claim, caps } = operation
    if (claim) {
      const name = claimName(account, claim)
      const by = this.state.claims.get(name)
      if (by) return void this.answers.push(() => answer({ kind: 'running', by }))
      if (this.#keptClaims.has(name)) return void this.answers.push(() => answer({ kind: 'kept' }))
    }
    if (this.#held(id)) return void this.answers.push(() => answer({ kind: 'known' }))
    const granted = ledger.hold(this.state, operation)
    if ('event' in granted) {
      this.#record(granted.event, { account, key })
      if (countsModel(caps)) this.#touchedOwners.add(modelOwner(account, model))
      this.#openedHolds.add(id)
    }
    this.answers.push(() => answer(granted))
  }

  #extend({ id, at, remaining, caps, answer }: ExtendWork): void {
    const held = this.#held(id)
    const granted = held && ledger.extend(this.state, { id, at, remaining, caps })
    if (!held || !granted) return void this.answers.push(() => answer(held?.outputTokens ?? 0))
    this.#record(granted.event, held)
    this.#touchedHolds.add(id)
    this.answers.push(() => answer(granted.outputTokens))
  }

  #settle({ ask, kept, otherPrice, at, caps, answer }: SettleWork): void {
    const { id, usage, cause, outcome } = ask
    const held = this.#held(id)
    if (!held) {
      this.#settleLate(ask, at)
      return void this.answers.push(() => answer(0n))
    }
    if (!usage) {
      const event = ledger.release(this.state, { id, at })
      if (event) this.#record(event, held)
      this.requests.push(requestRow(held, outcome, null))
      this.ended.add(id)
      return void this.answers.push(() => answer(0n))
    }
    const settled = ledger.settle(this.state, { id, at, usage, cause, caps, otherPrice })
    if (!settled) return
    this.#record(settled.event, held)
    const { charge } = settled
    if (held.claim && (charge > 0n || kept?.isWhole === true)) this.#keep(held, charge, kept?.sealed ?? null)
    this.requests.push(requestRow(held, outcome, { usage, cause, charge, balance: this.#balanceOf(held) }))
    this.ended.add(id)
    this.answers.push(() => answer(charge))
  }

  /** Its node was retired meanwhile, and the hold charged at its last mark: the rest is overrun, once. */
  #settleLate({ id, usage }: SettleWork['ask'], at: number): void {
    const row = this.#late.get(id)
    if (!row) return
    this.#late.delete(id)
    this.ended.add(id)
    const { price, factorPpm, account } = decodeHold(row.body, null)
    const cost = usage ? costOf(price, usage, factorPpm) : 0n
    const overrun = cost - (row.charged_nanos ?? 0n)
    if (overrun <= 0n) return
    const event: LedgerEvent = { kind: 'late', id, at, account, overrun }
    this.events.push(event)
    this.entries.push(...entryRowsOf(event, account))
  }

  #expire({ id, at, caps, upstream, isRetired, answer }: ExpireWork): void {
    const held = this.#held(id)
    const event = held && ledger.expire(this.state, { id, at, caps })
    this.answers.push(answer)
    if (!held || !event) return
    const { account, key, claim } = held
    this.#record(event, { account, key })
    const bill = event.kind === 'settled' ? { ...event, balance: this.#balanceOf(held) } : null
    const charge = bill?.charge ?? 0n
    this.requests.push(requestRow(held, goneOutcome(held, at, upstream), bill))
    if (claim && charge > 0n) this.#keep(held, charge, null)
    if (isRetired) this.#retired.push(rowOf(held, { at, charge }))
    else this.ended.add(id)
  }

  #credit({ operation, answer }: CreditWork): void {
    const { account, id } = operation
    const event = ledger.credit(this.state, operation)
    const { balance, held } = ownerOf(this.state, accountOwner(account))
    if (event === 'known') {
      const amount = this.state.credits.get(id) ?? 0n
      return void this.answers.push(() => answer({ kind: 'known', amount, balance }))
    }
    if (event === 'too-much')
      return void this.answers.push(() => answer({ kind: event, free: balance - held }))
    if (event === 'too-large') return void this.answers.push(() => answer({ kind: event }))
    this.#record(event, { account, key: null })
    this.answers.push(() => answer({ kind: 'entered', balance }))
  }

  #endTrial({ end, answer }: TrialWork): void {
    const known = this.state.credits.get(end.id)
    if (known !== undefined) return void this.answers.push(() => answer({ taken: -known, isDone: false }))
    const { event, isDone } = endTrial(this.state, end)
    if (event?.kind !== 'credited') return void this.answers.push(() => answer({ taken: 0n, isDone }))
    this.#record(event, { account: end.account, key: null })
    this.answers.push(() => answer({ taken: -event.amount, isDone }))
  }

  #balanceOf({ account }: Hold): bigint {
    return ownerOf(this.state, accountOwner(account)).balance
  }

  #keep({ id, at, account, claim }: Hold, cost: bigint, answer: Uint8Array | null): void {
    if (!claim) return
    this.#keptClaims.add(claimName(account, claim))
    const { key: key_hash, body: body_hash } = claim
    this.kept.push({ account_id: account, key_hash, body_hash, request_id: id, at, cost_nanos: cost, answer })
  }

  get isEmpty(): boolean {
    return this.events.length === 0 && this.requests.length === 0 && this.ended.size === 0
  }

  *#openOf(ids: Iterable<string>): Generator<Hold> {
    for (const id of ids) {
      const hold = this.state.holds.get(id)
      if (hold) yield hold
    }
  }

  /** Open holds that are new or have changed. */
  *changedHolds(): Generator<Hold> {
    yield* this.#openOf(this.#openedHolds.union(this.#touchedHolds))
  }

  /** What it has come to, as it is written beside its commit. `ending`: holds whose rows are gone already. */
  written(ending: readonly string[]): Written {
    const open = ending.find((id) => !this.ended.has(id))
    if (open !== undefined) throw new LedgerBroken(`the hold ${open} was settled and is open`)
    const { entries, requests, kept } = this
    const rowsOf = (ids: Iterable<string>) => Array.from(this.#openOf(ids), (hold) => rowOf(hold, null))
    return {
      entries,
      requests,
      kept,
      owners: Array.from(this.#touchedOwners, (id) => sharedRowOf(id, ownerOf(this.state, id))),
      opened: rowsOf(this.#openedHolds),
      changed: [...rowsOf(this.#touchedHolds.difference(this.#openedHolds)), ...this.#retired],
      ended: [...this.ended.difference(new Set(ending))],
    }
  }

  /** Ids of holds that are not open any more. */
  gone(): string[] {
    return [...this.ended, ...this.#retired.map(({ id }) => id)]
  }
}

function rowOf(hold: Hold, retired: { at: number; charge: bigint } | null): Omit<HoldRow, 'node'> {
  return {
    id: hold.id,
    body: encodeHold(hold),
    mark_input: hold.mark?.inputTokens ?? null,
    mark_output: hold.mark?.outputTokens ?? null,
    retired_at: retired?.at ?? null,
    charged_nanos: retired?.charge ?? null,
    claim: hold.claim && retired === null ? claimName(hold.account, hold.claim) : null,
  }
}
