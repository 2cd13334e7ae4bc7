/**
 * The authority of a node of a cluster: rates first, as all nodes count them, then money, in the node's next batch. A
 * request is admitted when that batch holds. How far streams have come is noted on the node's own disk.
 */
import type { Caller, Directory } from '../../accounts/directory.ts'
import type { Catalog, PricedModel } from '../../catalog/catalog.ts'
import type { Db } from '../../db/db.ts'
import type { ChangeFeed } from '../../db/postgres/change-feed.ts'
import { ownerRowsNow } from '../../db/postgres/owners.ts'
import { refuse } from '../../errors.ts'
import type { Wallet } from '../../http/house.ts'
import { ownerAt, type Denial } from '../../ledger/caps.ts'
import { accountOwner, emptyOwner, keyOwner, type Owner } from '../../ledger/state.ts'
import type { Granted } from '../../ledger/operations.ts'
import type { RateStatus } from '../../limits/rate-limiter.ts'
import type { HoldAnswer, HoldAsk, KeptAnswer, RequestOutcome, SettleAsk } from '../../relay/ledger-client.ts'
import { onlyUpstreamOf } from '../ledger/authority.ts'
import { capsOf, capsOfHold, claimsOf, walletOf } from '../ledger/caller-limits.ts'
import { running } from '../claims.ts'
import { deniedByLedger, deniedByRate } from '../ledger/denials.ts'
import { holdOperationOf, OpenPeriods, tokensToReserve } from '../ledger/hold-operation.ts'
import { requestRow } from '../ledger/request-row.ts'
import type { SpendNotices } from '../ledger/spend-notifications.ts'
import type { NodeRates } from '../../limits/node-rates.ts'
import type { NodeJournal } from './node-journal.ts'
import { ownerOfSharedRow } from './owner-rows.ts'
import type { SharedLedger } from './shared-ledger.ts'
import type { Taken } from './work.ts'

export interface SharedAuthorityParts {
  readonly ledger: SharedLedger
  readonly journal: NodeJournal
  readonly rates: NodeRates
  readonly directory: Directory
  readonly catalog: Catalog
  readonly spending: SpendNotices
  readonly db: Db
  readonly now: () => number
  /** What others have changed. */
  readonly feed: Pick<ChangeFeed, 'isFresh' | 'fresh'>
}

const unavailable = (rates: RateStatus | null): HoldAnswer => ({
  granted: false,
  code: 'service_unavailable',
  detail: { retryAfterMs: 1000 },
  rates,
})

export class SharedAuthority {
  readonly #parts: SharedAuthorityParts
  readonly #periods = new OpenPeriods()
  #isTrusted = true

  constructor(parts: SharedAuthorityParts) {
    this.#parts = parts
  }

  distrust(): void {
    this.#isTrusted = false
  }

  async hold(ask: HoldAsk): Promise<HoldAnswer> {
    const { directory, catalog, ledger, rates, feed } = this.#parts
    // Nobody is admitted by what was true a while ago: after a standstill, or where changes have no way to this node.
    if (ledger.admitting && !feed.isFresh && !(await feed.fresh())) return unavailable(null)
    const caller = directory.keyById(ask.keyId)
    const model = catalog.model(ask.model)
    if (!caller) return { granted: false, code: 'invalid_api_key', detail: {}, rates: null }
    if (!model) return { granted: false, code: 'model_not_found', detail: { param: 'model' }, rates: null }
    if (!ledger.admitting || !this.#isTrusted) return unavailable(null)
    const tokens = tokensToReserve(ask, model)
    const { denial, status } = await rates.reserve(ask.id, claimsOf(caller, model), tokens)
    if (denial) return { granted: false, ...deniedByRate(denial), rates: status }
    const held = await this.#holdMoney(ask, caller, model)
    if (held && 'event' in held) {
      const { outputTokens, maximumTokens } = held
      return { granted: true, outputTokens, maximumTokens, commit: 0, rates: status }
    }
    rates.giveBack(ask.id)
    if (!held) return unavailable(status)
    return this.#denied(held, ask, caller, status)
  }

  #denied(denial: Denial | Taken, ask: HoldAsk, caller: Caller, rates: RateStatus): HoldAnswer {
    if (denial.kind === 'running' && ask.claim) return running(denial.by, ask.claim)
    if (denial.kind === 'kept' || denial.kind === 'running')
      return { granted: false, code: 'idempotency_conflict', detail: {}, rates: null, lookAgain: 0 }
    const { accountId: account, keyId: key } = caller
    if (denial.kind !== 'known') this.#parts.spending.denied({ account, key }, denial, capsOf(caller))
    return { granted: false, ...deniedByLedger(denial, this.#parts.now()), rates }
  }

  #holdMoney(ask: HoldAsk, caller: Caller, model: PricedModel): Promise<Granted | Denial | Taken | null> {
    const at = this.#parts.now()
    const periods = this.#periods.at(caller.timezone, at)
    const operation = holdOperationOf(ask, { caller, model }, at, periods)
    const { promise, resolve } = Promise.withResolvers<Granted | Denial | Taken | null>()
    this.#parts.ledger.add({ kind: 'hold', operation, answer: resolve, isGivenUp: false })
    return promise
  }

  extend(id: string, remaining: number, answer: (outputTokens: number) => void): void {
    const { ledger, directory, now } = this.#parts
    const caps = capsOfHold(directory, ledger.state.holds.get(id))
    ledger.add({ kind: 'extend', id, at: now(), remaining, caps, answer })
  }

  /** Resolves when the mark is on this node's disk; rejects when it cannot be. */
  async mark(id: string, inputTokens: number, outputTokens: number): Promise<void> {
    const { ledger, journal, now } = this.#parts
    if (!ledger.state.holds.has(id)) return
    await journal.mark(id, inputTokens, outputTokens)
    ledger.own.mark(id, { at: now(), inputTokens, outputTokens })
  }

  /** Answers once, though a settlement that was kept on this node's disk is told again by the batch that enters it. */
  settle(ask: SettleAsk, kept: KeptAnswer | null, answer: (charge: bigint) => void): void {
    const { ledger, rates, spending, directory, catalog, now } = this.#parts
    const { id, usage, servedModel } = ask
    const otherPrice = servedModel === null ? undefined : catalog.model(servedModel)?.price
    const held = ledger.state.holds.get(id)
    const caps = capsOfHold(directory, held)
    rates.finish(id, usage ? usage.input + usage.output : 0)
    let isAnswered = false
    const answered = (charge: bigint): void => {
      if (isAnswered) return
      isAnswered = true
      if (held && usage) spending.settled(held, caps)
      answer(charge)
    }
    ledger.add({ kind: 'settle', ask, kept, otherPrice, at: now(), caps, answer: answered, isKept: false })
  }

  /** A request whose worker is gone: charged at its last mark. */
  expire(id: string): void {
    const { ledger, rates, directory, catalog, now } = this.#parts
    rates.finish(id, null)
    const held = ledger.state.holds.get(id)
    const caps = capsOfHold(directory, held)
    const upstream = held ? onlyUpstreamOf(catalog.model(held.model)) : null
    const answer = (): undefined => undefined
    ledger.add({ kind: 'expire', id, at: now(), caps, owners: null, upstream, isRetired: false, answer })
  }

  refused(id: string, keyId: string, outcome: RequestOutcome): void {
    const { directory, ledger, now } = this.#parts
    const caller = directory.keyById(keyId)
    if (!caller) return
    const who = { id, at: now(), account: caller.accountId, key: keyId, amount: 0n, priceVersion: 0 }
    ledger.add({ kind: 'row', row: requestRow(who, outcome, null) })
  }

  async takeRate(id: string, keyId: string): Promise<RateStatus> {
    const { directory, rates } = this.#parts
    const caller = directory.keyById(keyId)
    if (!caller) throw refuse('invalid_api_key')
    const { denial, status } = await rates.reserve(id, claimsOf(caller, null), 0)
    if (denial) {
      const { code, detail } = deniedByRate(denial)
      throw refuse(code, detail)
    }
    rates.finish(id, 0)
    return status
  }

  async wallet(accountId: string, keyId: string | null): Promise<Wallet> {
    const { db, directory, now } = this.#parts
    const rows = await ownerRowsNow(db, [accountOwner(accountId), keyOwner(keyId ?? '')])
    const found = new Map(rows.map((row) => [row.id, ownerOfSharedRow(row)]))
    const at = now()
    const seen = (id: string): Owner => ownerAt(found.get(id) ?? emptyOwner(), at)
    const owners = { account: seen(accountOwner(accountId)), key: seen(keyOwner(keyId ?? '')) }
    return walletOf(directory, { accountId, keyId }, owners)
  }
}
