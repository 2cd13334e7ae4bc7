/**
 * The authority of a cluster node: rate limits first, counted over all nodes, then money, in the node's next batch. A
 * request is admitted once that batch is committed. Marks of streams are written to the node's own disk.
 */
import type { Caller, Directory } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import type { Db } from '../../db/db.ts'
import type { ChangeFeed } from '../../db/postgres/change-feed.ts'
import { readOwnerRows } from '../../db/postgres/ledger-rows.ts'
import { apiError } from '../../errors.ts'
import type { Wallet } from '../../ledger/wallet.ts'
import { ownerAt, type Denial } from '../../ledger/caps.ts'
import { accountOwner, emptyOwner, keyOwner, type Owner } from '../../ledger/state.ts'
import type { GrantedHold } from '../../ledger/operations.ts'
import type { RateLimitSubject, RateStatus } from '../../limits/rate-limiter.ts'
import type { HoldResponse, HoldRequest, ResponseToStore, SettleRequest } from '../../relay/ledger-client.ts'
import { soleUpstreamOf } from '../ledger/authority.ts'
import {
  capsOf,
  capsOfHold,
  rateLimitSubjectsOf,
  tokenCountSubjectsOf,
  replaySubjectsOf,
  walletOf,
} from '../ledger/caller-limits.ts'
import { conflictWith } from '../ledger/idempotency-claims.ts'
import { ledgerDenialError, rateDenialError } from '../ledger/denials.ts'
import { holdOperationOf, OpenPeriodCache, tokensToReserve } from '../ledger/hold-operation.ts'
import type { SpendNotifications } from '../ledger/spend-notifications.ts'
import type { ClusterRateLimiter } from '../../limits/local-rate-limiter.ts'
import type { NodeJournal } from './ledger/node-journal.ts'
import { ownerFromRow } from './ledger/shared-rows.ts'
import type { SharedLedger } from './ledger/shared-ledger.ts'
import type { ClaimConflict } from './ledger/queued-operations.ts'

export interface SharedAuthorityDeps {
  readonly ledger: SharedLedger
  readonly journal: NodeJournal
  readonly rates: ClusterRateLimiter
  readonly directory: Directory
  readonly catalog: Catalog
  readonly spendNotifications: SpendNotifications
  readonly db: Db
  readonly now: () => number
  /** The changes of other nodes. */
  readonly feed: Pick<ChangeFeed, 'isFresh' | 'waitUntilFresh'>
}

const unavailable = (rates: RateStatus | null): HoldResponse => ({
  granted: false,
  code: 'service_unavailable',
  detail: { retryAfterMs: 1000 },
  rates,
})

export class SharedAuthority {
  readonly #deps: SharedAuthorityDeps
  readonly #periods = new OpenPeriodCache()
  #isAdmissionOpen = true

  constructor(deps: SharedAuthorityDeps) {
    this.#deps = deps
  }

  haltAdmission(): void {
    this.#isAdmissionOpen = false
  }

  async hold(request: HoldRequest): Promise<HoldResponse> {
    const { directory, catalog, ledger, rates, feed } = this.#deps
    // Do not admit by outdated configuration: after a stall, or while changes do not reach this node.
    if (ledger.isAdmitting && !feed.isFresh && !(await feed.waitUntilFresh())) return unavailable(null)
    const caller = directory.callerByKeyId(request.keyId)
    const model = catalog.model(request.model)
    if (!caller) return { granted: false, code: 'invalid_api_key', detail: {}, rates: null }
    if (!model) return { granted: false, code: 'model_not_found', detail: { param: 'model' }, rates: null }
    if (!ledger.isAdmitting || !this.#isAdmissionOpen) return unavailable(null)
    const tokens = tokensToReserve(request, model)
    const { denial, status } = await rates.reserve(request.id, rateLimitSubjectsOf(caller, model), tokens)
    if (denial) return { granted: false, ...rateDenialError(denial), rates: status }
    const held = await this.#requestHold(request, caller, model)
    if (held && 'event' in held) {
      const { outputTokens, maximumTokens } = held
      return { granted: true, outputTokens, maximumTokens, commit: 0, rates: status }
    }
    rates.cancel(request.id)
    if (!held) return unavailable(status)
    return this.#toDenial(held, request, caller, status)
  }

  #toDenial(
    denial: Denial | ClaimConflict,
    request: HoldRequest,
    caller: Caller,
    rates: RateStatus,
  ): HoldResponse {
    if (denial.kind === 'running' && request.claim) return conflictWith(denial.by, request.claim)
    if (denial.kind === 'stored' || denial.kind === 'running')
      return { granted: false, code: 'idempotency_conflict', detail: {}, rates: null, retryAfterCommit: 0 }
    const { accountId: account, keyId: key } = caller
    if (denial.kind !== 'known')
      this.#deps.spendNotifications.onDenied({ account, key }, denial, capsOf(caller))
    return { granted: false, ...ledgerDenialError(denial, this.#deps.now()), rates }
  }

  #requestHold(
    request: HoldRequest,
    caller: Caller,
    model: PricedModel,
  ): Promise<GrantedHold | Denial | ClaimConflict | null> {
    const at = this.#deps.now()
    const periods = this.#periods.at(caller.timezone, at)
    const operation = holdOperationOf(request, { caller, model }, at, periods)
    const { promise, resolve } = Promise.withResolvers<GrantedHold | Denial | ClaimConflict | null>()
    const { timezone } = caller
    this.#deps.ledger.enqueue({ kind: 'hold', hold: operation, timezone, reply: resolve, isAbandoned: false })
    return promise
  }

  extend(id: string, remaining: number, reply: (outputTokens: number) => void): void {
    const { ledger, directory, now } = this.#deps
    const caps = capsOfHold(directory, ledger.state.holds.get(id))
    ledger.enqueue({ kind: 'extend', id, at: now(), remaining, caps, reply })
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
    const { ledger, rates, spendNotifications, directory, catalog, now } = this.#deps
    const { id, usage, servedModel } = request
    const otherPrice = servedModel === null ? undefined : catalog.model(servedModel)?.price
    const held = ledger.state.holds.get(id)
    const caps = capsOfHold(directory, held)
    rates.finish(id, usage ? usage.input + usage.output : 0)
    let hasReplied = false
    const replyOnce = (charge: bigint): void => {
      if (hasReplied) return
      hasReplied = true
      if (held && usage) spendNotifications.onSettled(held, caps)
      reply(charge)
    }
    ledger.enqueue({
      kind: 'settle',
      request,
      storedResponse,
      otherPrice,
      at: now(),
      caps,
      reply: replyOnce,
      isSavedLocally: false,
    })
  }

  /** A request whose worker has exited is charged at its last mark. */
  expire(id: string): void {
    const { ledger, rates, directory, catalog, now } = this.#deps
    rates.finish(id, null)
    const held = ledger.state.holds.get(id)
    const caps = capsOfHold(directory, held)
    const upstream = held ? soleUpstreamOf(catalog.model(held.model)) : null
    const reply = (): undefined => undefined
    ledger.enqueue({ kind: 'expire', id, at: now(), caps, owners: null, upstream, isRetired: false, reply })
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
