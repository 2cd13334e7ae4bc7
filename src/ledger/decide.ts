/**
 * The engine: everything that an operation does to money, written once for the store of a single relay and for that of a
 * cluster. A store loads what an operation touches, lets `decide` change it, writes what `decide` adds to its commit, and
 * replies with the result. Pure like all of `ledger/`; it changes the state in place, because a copy of it would cost more
 * than the decision. A store that may fail to commit passes copies.
 */
import type { StoredResponseRow } from '../db/ledger-commit.ts'
import { toValidText } from '../lib/valid-text.ts'
import type { Caps } from './caps.ts'
import { endTrial } from './end-trial.ts'
import type { IdempotencyClaim } from './events.ts'
import * as ledger from './operations.ts'
import { paybackIds } from './payback-ids.ts'
import { reopen } from './reopen.ts'
import { expiredOutcome, requestRow } from './request-row.ts'
import { accountOwner, claimId, keyOwner, modelOwner, ownerOf, type Hold } from './state.ts'
import { takeBack as takeMoneyBack, type TakeBackResult } from './take-back.ts'
import type {
  ClaimConflict,
  CreditingKind,
  CreditResult,
  LedgerTransaction,
  Operation,
  OperationKind,
  Operations,
  ResponseToStore,
  Results,
  SettleRequest,
  TrialEndResult,
} from './transaction.ts'

const noOwners: readonly string[] = []

/** Whether the model's requests per day are limited, and therefore counted. */
function hasModelDailyLimit({ modelRequestsPerDay }: Caps): boolean {
  return modelRequestsPerDay !== null && modelRequestsPerDay !== undefined
}

/** The owners that a hold touches. */
export function ownersOfHold({ account, key, model, caps }: ledger.HoldOperation): string[] {
  const owners = [accountOwner(account), keyOwner(key)]
  if (hasModelDailyLimit(caps)) owners.push(modelOwner(account, model))
  return owners
}

/** The credits that an operation enters, and whose they are. */
export function creditsOf(operation: Operation<CreditingKind>): {
  readonly account: string
  readonly ids: readonly string[]
} {
  if (operation.kind === 'takeBack') {
    const { id, account } = operation.takeBack
    return { account, ids: Object.values(paybackIds(id)) }
  }
  const { id, account } = operation.kind === 'credit' ? operation.credit : operation.end
  return { account, ids: [id] }
}

/** Why a request may not use its `Idempotency-Key`; `null`: it may. */
export function claimConflict(
  transaction: Pick<LedgerTransaction, 'state' | 'storedBy'>,
  account: string,
  claim: IdempotencyClaim,
  seenCommit: number,
): ClaimConflict | null {
  const name = claimId(account, claim)
  const by = transaction.state.claims.get(name)
  if (by) return { kind: 'running', by }
  const commit = transaction.storedBy(name, seenCommit)
  return commit === null ? null : { kind: 'stored', commit }
}

/** The owners of an open hold that an operation on it touches. */
export const heldOwners = ({ account, key }: Hold): string[] => [accountOwner(account), keyOwner(key)]

function hold(
  transaction: LedgerTransaction,
  { hold: operation, seenCommit = 0 }: Operations['hold'],
): Results['hold'] {
  const { account, claim } = operation
  const conflict = claim ? claimConflict(transaction, account, claim, seenCommit) : null
  if (conflict) return conflict
  const result = ledger.hold(transaction.state, operation)
  if ('event' in result) transaction.addEvent(result.event, ownersOfHold(operation), account)
  return result
}

function extend(transaction: LedgerTransaction, operation: Operations['extend']): number {
  const held = transaction.state.holds.get(operation.id)
  if (!held) return 0
  const granted = ledger.extend(transaction.state, operation)
  if (!granted) return operation.searches > 0 ? 0 : held.outputTokens
  transaction.addEvent(granted, heldOwners(held), held.account)
  return granted.outputTokens
}

function mark(transaction: LedgerTransaction, operation: Operations['mark']): undefined {
  const event = ledger.mark(transaction.state, operation)
  if (event) transaction.addEvent(event, noOwners, '')
}

const balanceOf = ({ state }: LedgerTransaction, { account }: Hold): bigint =>
  ownerOf(state, accountOwner(account)).balance

/** Stores the response of a request that claimed a key, if it was charged or is complete. */
function storeResponse(
  transaction: LedgerTransaction,
  { id, at, account, claim }: Hold,
  charge: bigint,
  response: ResponseToStore | null,
): void {
  if (!claim || (charge === 0n && response?.isComplete !== true)) return
  const row: StoredResponseRow = {
    account_id: account,
    key_hash: claim.key,
    body_hash: claim.body,
    request_id: id,
    at,
    cost_nanos: charge,
    answer: response?.sealed ?? null,
  }
  transaction.addStoredResponse(row, claimId(account, claim))
}

function settle(
  transaction: LedgerTransaction,
  { request, storedResponse, otherPrice, at, caps }: Operations['settle'],
): bigint {
  const { state } = transaction
  const { id, usage, bound, cause, outcome } = request
  const held = state.holds.get(id)
  if (!held) {
    settleLate(transaction, request, at)
    return 0n
  }
  const settled = usage && ledger.settle(state, { id, at, usage, bound, cause, caps, otherPrice })
  const event = settled ?? ledger.release(state, { id, at })
  if (event) transaction.addEvent(event, heldOwners(held), held.account)
  const charge = settled?.charge ?? 0n
  const overrun = settled?.overrun ?? 0n
  const bill = usage && { usage, cause, charge, overrun, balance: balanceOf(transaction, held) }
  transaction.addRequest(requestRow(held, outcome, bill))
  if (bill) storeResponse(transaction, held, charge, storedResponse)
  return charge
}

/** The node was retired in the meantime and the hold charged at its last mark: the rest is charged now, once. */
function settleLate(transaction: LedgerTransaction, { id, usage, bound }: SettleRequest, at: number): void {
  const retired = transaction.takeRetired(id)
  if (!retired || !usage) return
  const { hold: held, charge, caps } = retired
  const unpaid = ledger.costOfUsage(held, usage, undefined) - charge
  if (unpaid <= 0n) return
  const maxCost = ledger.costOfUsage(held, bound ?? usage, undefined) - charge
  const maxCharge = maxCost < unpaid ? maxCost : unpaid
  const event = ledger.settleLate(transaction.state, held, { at, unpaid, maxCharge, caps })
  transaction.addEvent(event, event.charge ? heldOwners(held) : noOwners, held.account)
}

function expire(
  transaction: LedgerTransaction,
  { id, at, caps, upstream }: Operations['expire'],
): bigint | null {
  const { state } = transaction
  const held = state.holds.get(id)
  const event = held && ledger.expire(state, { id, at, caps })
  if (!held || !event) return null
  transaction.addEvent(event, heldOwners(held), held.account)
  const bill = event.kind === 'settled' ? { ...event, balance: balanceOf(transaction, held) } : null
  transaction.addRequest(requestRow(held, expiredOutcome(held, at, upstream), bill))
  if (bill) storeResponse(transaction, held, bill.charge, null)
  return bill?.charge ?? 0n
}

function credit(
  transaction: LedgerTransaction,
  { credit: operation, keepsOverrun }: Operations['credit'],
): CreditResult {
  const { state } = transaction
  const { account } = operation
  const event = ledger.credit(state, operation, keepsOverrun)
  const { balance, held } = ownerOf(state, accountOwner(account))
  if (event === 'known') {
    const amount = state.credits.get(toValidText(operation.id)) ?? 0n
    return { kind: event, amount, balance }
  }
  if (event === 'too-much') return { kind: event, free: balance - held }
  if (event === 'too-large') return { kind: event }
  transaction.addEvent(event, [accountOwner(account)], account)
  return { kind: 'entered', balance }
}

function trial(transaction: LedgerTransaction, { end }: Operations['trial']): TrialEndResult {
  const known = transaction.state.credits.get(end.id)
  if (known !== undefined) return { taken: -known, isDone: false }
  const { event, isDone } = endTrial(transaction.state, end)
  if (!event) return { taken: 0n, isDone }
  transaction.addEvent(event, [accountOwner(end.account)], end.account)
  return { taken: -event.amount, isDone }
}

function takeBack(
  transaction: LedgerTransaction,
  { takeBack: operation }: Operations['takeBack'],
): TakeBackResult {
  const { events, result } = takeMoneyBack(transaction.state, operation)
  const { account } = operation
  for (const event of events) transaction.addEvent(event, [accountOwner(account)], account)
  return result
}

function reopenPeriods(transaction: LedgerTransaction, { reopening }: Operations['reopen']): undefined {
  transaction.addEvent(reopen(transaction.state, reopening), [reopening.id], '')
}

type Rules = {
  readonly [Kind in OperationKind]: (
    transaction: LedgerTransaction,
    operation: Operations[Kind],
  ) => Results[Kind]
}
const rules: Rules = { hold, extend, mark, settle, expire, credit, trial, takeBack, reopen: reopenPeriods }

/** Decides one operation: changes the state, and adds events and rows to the commit. Repeating an operation is harmless. */
export function decide<Kind extends OperationKind>(
  transaction: LedgerTransaction,
  operation: Operation<Kind>,
): Results[Kind] {
  return rules[operation.kind](transaction, operation)
}
