/**
 * The authority of a cluster node: rate limits first, counted over all nodes, then money, in the node's next batch. A
 * request is admitted once that batch is committed. Marks of streams are written to the node's own disk.
 */
import type { Db } from '../../db/db.ts'
import type { ChangeFeed } from '../../db/postgres/change-feed.ts'
import { readOwnerRows } from '../../db/postgres/ledger-rows.ts'
import { apiError } from '../../errors.ts'
import type { Wallet } from '../../ledger/wallet.ts'
import { ownerAt } from '../../ledger/caps.ts'
import { accountOwner, emptyOwner, keyOwner, type Owner } from '../../ledger/state.ts'
import type { RateLimitSubject, RateStatus } from '../../limits/rate-limiter.ts'
import type { Operation, ResponseToStore, Results, SettleRequest } from '../../ledger/transaction.ts'
import type { HoldResponse, HoldRequest } from '../../relay/ledger-client.ts'
import { rateLimitSubjectsOf, tokenCountSubjectsOf, replaySubjectsOf, walletOf } from '../caller-limits.ts'
import { ledgerDenialError, rateDenialError, rejected, unavailable } from '../denials.ts'
import { RequestOperations, tokensToReserve, type RequestOperationsDeps } from '../request-operations.ts'
import type { SpendNotifications } from '../spend-notifications.ts'
import type { ClusterRateLimiter } from '../../limits/local-rate-limiter.ts'
import type { NodeJournal } from './node-journal.ts'
import { ownerFromRow } from './shared-rows.ts'
import type { SharedLedger } from './shared-ledger.ts'

export interface SharedAuthorityDeps extends RequestOperationsDeps {
  readonly ledger: SharedLedger
  readonly journal: NodeJournal
  readonly rates: ClusterRateLimiter
  readonly spendNotifications: SpendNotifications
  readonly db: Db
  /** The changes of other nodes. */
  readonly feed: Pick<ChangeFeed, 'isFresh' | 'waitUntilFresh'>
}

export class SharedAuthority {
  readonly #deps: SharedAuthorityDeps
  readonly #operations: RequestOperations
  #isAdmissionOpen = true

  constructor(deps: SharedAuthorityDeps) {
    this.#deps = deps
    this.#operations = new RequestOperations(deps)
  }

  haltAdmission(): void {
    this.#isAdmissionOpen = false
  }

  async hold(request: HoldRequest): Promise<HoldResponse> {
    const { ledger, rates, feed, spendNotifications, now } = this.#deps
    // Do not admit by outdated configuration: after a stall, or while changes do not reach this node.
    if (ledger.isAdmitting && !feed.isFresh && !(await feed.waitUntilFresh()))
      return rejected(unavailable, null)
    const requested = this.#operations.find(request)
    if ('granted' in requested) return requested
    if (!ledger.isAdmitting || !this.#isAdmissionOpen) return rejected(unavailable, null)
    const { caller, model } = requested
    const tokens = tokensToReserve(request, model)
    const { denial, status } = await rates.reserve(request.id, rateLimitSubjectsOf(caller, model), tokens)
    if (denial) return rejected(rateDenialError(denial), status)
    const operation = this.#operations.hold(request, requested)
    const held = await this.#enqueueHold(operation, caller.timezone)
    if (held && 'event' in held) {
      const { outputTokens, maximumTokens } = held
      return { granted: true, outputTokens, maximumTokens, commit: 0, rates: status }
    }
    rates.cancel(request.id)
    if (!held) return rejected(unavailable, status)
    spendNotifications.onDenied(operation.hold, held)
    const isOfClaim = held.kind === 'running' || held.kind === 'stored'
    return rejected(ledgerDenialError(held, request.claim, now()), isOfClaim ? null : status)
  }

  /** `null`: the database is unavailable. */
  #enqueueHold(operation: Operation<'hold'>, timezone: string): Promise<Results['hold'] | null> {
    return new Promise((reply) =>
      this.#deps.ledger.enqueue({ ...operation, timezone, reply, isAbandoned: false }),
    )
  }

  extend(id: string, remaining: number, reply: (outputTokens: number) => void): void {
    const { ledger } = this.#deps
    ledger.enqueue({ ...this.#operations.extend(id, remaining, ledger.state.holds.get(id)), reply })
  }

  /** Resolves when the mark is on this node's disk; rejects if it cannot be written. */
  async mark(id: string, inputTokens: number, outputTokens: number): Promise<void> {
    const { ledger, journal, now } = this.#deps
    if (!ledger.state.holds.has(id)) return
    await journal.mark(id, inputTokens, outputTokens)
    ledger.holds.mark(id, { at: now(), inputTokens, outputTokens })
  }

  /** Replies once, although a settlement that was saved on this node's disk gets a second reply from the batch that enters it. */
  settle(
    request: SettleRequest,
    storedResponse: ResponseToStore | null,
    reply: (charge: bigint) => void,
  ): void {
    const { ledger, rates, spendNotifications } = this.#deps
    const { id, usage } = request
    const held = ledger.state.holds.get(id)
    const operation = this.#operations.settle(request, storedResponse, held)
    rates.finish(id, usage ? usage.input + usage.output : 0)
    let hasReplied = false
    const replyOnce = (charge: bigint): void => {
      if (hasReplied) return
      hasReplied = true
      if (held && usage) spendNotifications.onSettled(held, operation.caps)
      reply(charge)
    }
    ledger.enqueue({ ...operation, reply: replyOnce, isSavedLocally: false })
  }

  /** A request whose worker has exited is charged at its last mark. */
  expire(id: string): void {
    const { ledger, rates, spendNotifications } = this.#deps
    rates.finish(id, null)
    const held = ledger.state.holds.get(id)
    const operation = this.#operations.expire(id, held)
    const reply = (charge: bigint | null): void => {
      if (held && charge) spendNotifications.onSettled(held, operation.caps)
    }
    ledger.enqueue({ ...operation, owners: null, isRetired: false, reply })
  }

  async takeTokenCount(id: string, keyId: string): Promise<RateStatus> {
    const caller = this.#deps.directory.callerByKeyId(keyId)
    if (!caller) throw apiError('invalid_api_key')
    return this.#countRequest(id, tokenCountSubjectsOf(caller))
  }

  takeReplay(id: string, keyId: string): Promise<RateStatus> {
    return this.#countRequest(id, replaySubjectsOf(keyId))
  }

  async #countRequest(id: string, subjects: readonly RateLimitSubject[]): Promise<RateStatus> {
    const { rates } = this.#deps
    const { denial, status } = await rates.reserve(id, subjects, 0)
    if (denial) {
      const { code, detail } = rateDenialError(denial)
      throw apiError(code, detail)
    }
    rates.finish(id, 0)
    return status
  }

  async wallet(accountId: string, keyId: string | null): Promise<Wallet> {
    const { db, directory, now } = this.#deps
    const rows = await readOwnerRows(db, [accountOwner(accountId), keyOwner(keyId ?? '')])
    const found = new Map(rows.map((row) => [row.id, ownerFromRow(row)]))
    const at = now()
    const ownerNow = (id: string): Owner => ownerAt(found.get(id) ?? emptyOwner(), at)
    const owners = { account: ownerNow(accountOwner(accountId)), key: ownerNow(keyOwner(keyId ?? '')) }
    return walletOf(directory, { accountId, keyId }, owners)
  }
}
