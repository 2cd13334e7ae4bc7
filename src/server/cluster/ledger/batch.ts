/**
 * One batch of a node: the same reducer as on a single node, over a state of only the rows that the batch touches.
 * If the transaction fails, nothing of it is kept; once it is committed, the node adopts the result.
 */
import type { EntryRow, StoredResponseRow, RequestRow } from '../../../db/ledger-commit.ts'
import type { HoldRow, LockedRows } from '../../../db/postgres/lock-batch.ts'
import type { BatchRows } from '../../../db/postgres/write-batch.ts'
import { LedgerInvariantError } from '../../../ledger/apply.ts'
import { decodeHold } from '../../../ledger/checkpoint.ts'
import { endTrial } from '../../../ledger/end-trial.ts'
import { books } from '../../../ledger/entries.ts'
import type { LedgerEvent, Reopened } from '../../../ledger/events.ts'
import { costOf } from '../../../ledger/price.ts'
import { reopen } from '../../../ledger/reopen.ts'
import {
  accountOwner,
  claimId,
  emptyState,
  keyOwner,
  modelOwner,
  ownerOf,
  type Hold,
  type LedgerState,
} from '../../../ledger/state.ts'
import * as ledger from '../../../ledger/operations.ts'
import { expiredOutcome } from '../../ledger/authority.ts'
import { entryRowsOf } from '../../ledger/commit-queue.ts'
import { requestRow } from '../../ledger/request-row.ts'
import { hasModelDailyLimit, type NodeHoldsView } from './batch-needs.ts'
import { holdRowOf, markOfRow, ownerFromRow, ownerToRow } from './shared-rows.ts'
import {
  isStillWanted,
  type QueuedCredit,
  type QueuedExpire,
  type QueuedExtend,
  type QueuedHold,
  type QueuedSettle,
  type QueuedTrialEnd,
  type QueuedOperation,
} from './queued-operations.ts'

export type BatchResult = Omit<BatchRows, 'seq' | 'node' | 'commit' | 'areRequestsKnown'>

export class Batch {
  readonly state: LedgerState = emptyState()
  readonly events: LedgerEvent[] = []
  readonly entries: EntryRow[] = []
  readonly requests: RequestRow[] = []
  readonly storedResponses: StoredResponseRow[] = []
  /** To be sent once the batch is committed. */
  readonly replies: (() => void)[] = []
  readonly ended = new Set<string>()
  readonly #nodeHolds: NodeHoldsView
  readonly #touchedOwners = new Set<string>()
  readonly #openedHolds = new Set<string>()
  readonly #touchedHolds = new Set<string>()
  /** Holds whose node was retired, with what they were charged: as loaded, and (below) as of this batch. */
  readonly #retiredHolds = new Map<string, HoldRow>()
  readonly #newlyRetired: Omit<HoldRow, 'node'>[] = []
  readonly #storedClaims: Set<string>

  constructor(nodeHolds: NodeHoldsView, rows: LockedRows) {
    this.#nodeHolds = nodeHolds
    for (const row of rows.owners) this.state.owners.set(row.id, ownerFromRow(row))
    for (const row of rows.holds) {
      if (row.retired_at !== null) this.#retiredHolds.set(row.id, row)
      else this.state.holds.set(row.id, decodeHold(row.body, markOfRow(row)))
    }
    for (const { body, claim } of rows.claimed) this.state.claims.set(claim, decodeHold(body, null))
    this.#storedClaims = new Set(rows.claimsWithResponse)
    for (const { ref, debit, amount_nanos: amount } of rows.credits) {
      this.state.credits.set(ref, debit === books.funding ? amount : -amount)
    }
  }

  /**
   * Applies the operations that are still wanted in their order, after all marks that the database does not have yet.
   * `reopenings`: of owners that enter other periods after a clock was wrong.
   */
  run(operations: readonly QueuedOperation[], reopenings: readonly Omit<Reopened, 'kind'>[] = []): void {
    for (const reopening of reopenings) {
      this.events.push(reopen(this.state, reopening))
      this.#touchedOwners.add(reopening.id)
    }
    for (const [id, mark] of this.#nodeHolds.marks) {
      if (!this.#findHold(id)) continue
      const event = ledger.mark(this.state, { id, ...mark })
      if (!event) continue
      this.events.push(event)
      this.#touchedHolds.add(id)
    }
    for (const operation of operations) if (isStillWanted(operation)) this.#apply(operation)
  }

  #apply(operation: QueuedOperation): void {
    switch (operation.kind) {
      case 'hold':
        return this.#hold(operation)
      case 'extend':
        return this.#extend(operation)
      case 'settle':
        return this.#settle(operation)
      case 'expire':
        return this.#expire(operation)
      case 'credit':
        return this.#credit(operation)
      case 'trial':
        return this.#endTrial(operation)
      case 'row':
        this.requests.push(operation.row)
    }
  }

  /** An open hold in this batch's state: a copy of the node's own, or one that was loaded. */
  #findHold(id: string): Hold | undefined {
    const held = this.state.holds.get(id)
    if (held || this.ended.has(id)) return held
    const own = this.#nodeHolds.holds.get(id)
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

  #hold({ hold, reply }: QueuedHold): void {
    const { id, account, key, model, claim, caps } = hold
    if (claim) {
      const name = claimId(account, claim)
      const by = this.state.claims.get(name)
      if (by) return void this.replies.push(() => reply({ kind: 'running', by }))
      if (this.#storedClaims.has(name)) return void this.replies.push(() => reply({ kind: 'stored' }))
    }
    if (this.#findHold(id)) return void this.replies.push(() => reply({ kind: 'known' }))
    const granted = ledger.hold(this.state, hold)
    if ('event' in granted) {
      this.#record(granted.event, { account, key })
      if (hasModelDailyLimit(caps)) this.#touchedOwners.add(modelOwner(account, model))
      this.#openedHolds.add(id)
    }
    this.replies.push(() => reply(granted))
  }

  #extend({ id, at, remaining, caps, reply }: QueuedExtend): void {
    const held = this.#findHold(id)
    const granted = held && ledger.extend(this.state, { id, at, remaining, caps })
    if (!held || !granted) return void this.replies.push(() => reply(held?.outputTokens ?? 0))
    this.#record(granted.event, held)
    this.#touchedHolds.add(id)
    this.replies.push(() => reply(granted.outputTokens))
  }

  #settle({ request, storedResponse, otherPrice, at, caps, reply }: QueuedSettle): void {
    const { id, usage, cause, outcome } = request
    const held = this.#findHold(id)
    if (!held) {
      this.#settleLate(request, at)
      return void this.replies.push(() => reply(0n))
    }
    if (!usage) {
      const event = ledger.release(this.state, { id, at })
      if (event) this.#record(event, held)
      this.requests.push(requestRow(held, outcome, null))
      this.ended.add(id)
      return void this.replies.push(() => reply(0n))
    }
    const settled = ledger.settle(this.state, { id, at, usage, cause, caps, otherPrice })
    if (!settled) return
    this.#record(settled.event, held)
    const { charge } = settled
    if (held.claim && (charge > 0n || storedResponse?.isComplete === true))
      this.#storeResponse(held, charge, storedResponse?.sealed ?? null)
    this.requests.push(requestRow(held, outcome, { usage, cause, charge, balance: this.#balanceOf(held) }))
    this.ended.add(id)
    this.replies.push(() => reply(charge))
  }

  /** The node was retired in the meantime and the hold charged at its last mark: the rest is overrun, once. */
  #settleLate({ id, usage }: QueuedSettle['request'], at: number): void {
    const row = this.#retiredHolds.get(id)
    if (!row) return
    this.#retiredHolds.delete(id)
    this.ended.add(id)
    const { price, factorPpm, account } = decodeHold(row.body, null)
    const cost = usage ? costOf(price, usage, factorPpm) : 0n
    const overrun = cost - (row.charged_nanos ?? 0n)
    if (overrun <= 0n) return
    const event: LedgerEvent = { kind: 'late', id, at, account, overrun }
    this.events.push(event)
    this.entries.push(...entryRowsOf(event, account))
  }

  #expire({ id, at, caps, upstream, isRetired, reply }: QueuedExpire): void {
    const held = this.#findHold(id)
    const event = held && ledger.expire(this.state, { id, at, caps })
    this.replies.push(reply)
    if (!held || !event) return
    const { account, key, claim } = held
    this.#record(event, { account, key })
    const bill = event.kind === 'settled' ? { ...event, balance: this.#balanceOf(held) } : null
    const charge = bill?.charge ?? 0n
    this.requests.push(requestRow(held, expiredOutcome(held, at, upstream), bill))
    if (claim && charge > 0n) this.#storeResponse(held, charge, null)
    if (isRetired) this.#newlyRetired.push(holdRowOf(held, { at, charge }))
    else this.ended.add(id)
  }

  #credit({ credit, reply }: QueuedCredit): void {
    const { account, id } = credit
    const event = ledger.credit(this.state, credit)
    const { balance, held } = ownerOf(this.state, accountOwner(account))
    if (event === 'known') {
      const amount = this.state.credits.get(id) ?? 0n
      return void this.replies.push(() => reply({ kind: 'known', amount, balance }))
    }
    if (event === 'too-much')
      return void this.replies.push(() => reply({ kind: event, free: balance - held }))
    if (event === 'too-large') return void this.replies.push(() => reply({ kind: event }))
    this.#record(event, { account, key: null })
    this.replies.push(() => reply({ kind: 'entered', balance }))
  }

  #endTrial({ end, reply }: QueuedTrialEnd): void {
    const known = this.state.credits.get(end.id)
    if (known !== undefined) return void this.replies.push(() => reply({ taken: -known, isDone: false }))
    const { event, isDone } = endTrial(this.state, end)
    if (event?.kind !== 'credited') return void this.replies.push(() => reply({ taken: 0n, isDone }))
    this.#record(event, { account: end.account, key: null })
    this.replies.push(() => reply({ taken: -event.amount, isDone }))
  }

  #balanceOf({ account }: Hold): bigint {
    return ownerOf(this.state, accountOwner(account)).balance
  }

  #storeResponse({ id, at, account, claim }: Hold, cost: bigint, response: Uint8Array | null): void {
    if (!claim) return
    this.#storedClaims.add(claimId(account, claim))
    const { key: key_hash, body: body_hash } = claim
    this.storedResponses.push({
      account_id: account,
      key_hash,
      body_hash,
      request_id: id,
      at,
      cost_nanos: cost,
      answer: response,
    })
  }

  get isEmpty(): boolean {
    return this.events.length === 0 && this.requests.length === 0 && this.ended.size === 0
  }

  *#openHoldsOf(ids: Iterable<string>): Generator<Hold> {
    for (const id of ids) {
      const hold = this.state.holds.get(id)
      if (hold) yield hold
    }
  }

  /** Open holds that are new or have changed. */
  *changedHolds(): Generator<Hold> {
    yield* this.#openHoldsOf(this.#openedHolds.union(this.#touchedHolds))
  }

  /** The result, as it is written with its commit. `endingHolds`: holds whose rows are already deleted. */
  result(endingHolds: readonly string[]): BatchResult {
    const open = endingHolds.find((id) => !this.ended.has(id))
    if (open !== undefined) throw new LedgerInvariantError(`the hold ${open} was settled and is open`)
    const { entries, requests, storedResponses } = this
    const rowsOf = (ids: Iterable<string>) =>
      Array.from(this.#openHoldsOf(ids), (hold) => holdRowOf(hold, null))
    return {
      entries,
      requests,
      storedResponses,
      owners: Array.from(this.#touchedOwners, (id) => ownerToRow(id, ownerOf(this.state, id))),
      opened: rowsOf(this.#openedHolds),
      changed: [...rowsOf(this.#touchedHolds.difference(this.#openedHolds)), ...this.#newlyRetired],
      ended: [...this.ended.difference(new Set(endingHolds))],
    }
  }

  /** Ids of holds that are no longer open. */
  endedIds(): string[] {
    return [...this.ended, ...this.#newlyRetired.map(({ id }) => id)]
  }
}
