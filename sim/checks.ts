/**
 * Invariants of a simulated node, checked after every step and at the end against what callers received and
 * what the upstreams measured. The ledger is never its own witness where there is another one.
 */
import type { Caps } from '../src/ledger/caps.ts'
import { apply } from '../src/ledger/apply.ts'
import { encodeHolds } from '../src/ledger/checkpoint.ts'
import type { LateCharge, LedgerEvent, Settled } from '../src/ledger/events.ts'
import { isPayback } from '../src/ledger/payback-ids.ts'
import { costOf, type Usage } from '../src/ledger/price.ts'
import { noUsage } from '../src/providers/usage.ts'
import { accountOwner, emptyOwner, emptyState, keyOwner, type LedgerState } from '../src/ledger/state.ts'
import type { SimDisk } from './disk.ts'
import { modelTokens } from './hold-operation.ts'
import type { SimHoldOptions } from './messages.ts'
import type { SimRequest } from './request.ts'

/** An invariant does not hold. */
export class InvariantViolation extends Error {}

export function assertInvariant(condition: boolean, message: string): void {
  if (!condition) throw new InvariantViolation(message)
}

/** An independent model of what each period of each owner has taken, computed from the events alone. */
export class ReferenceModel {
  readonly #taken = new Map<string, bigint>()
  readonly #requests = new Map<string, number>()
  readonly #holds = new Map<string, { names: readonly string[]; amount: bigint }>()
  readonly #capsOf: (account: string, key: string) => Caps
  readonly #optionsOf: (id: string) => SimHoldOptions | undefined
  readonly #limits = new Map<string, bigint | null>()
  /** The accounts that have caused an overrun since their last credit. */
  readonly #overran = new Set<string>()
  readonly #accounts = new Map<string, string>()

  constructor(
    capsOf: (account: string, key: string) => Caps,
    optionsOf: (id: string) => SimHoldOptions | undefined,
  ) {
    this.#capsOf = capsOf
    this.#optionsOf = optionsOf
  }

  record(event: LedgerEvent): void {
    if (event.kind === 'held') this.#begin(event)
    const isNewMoney = event.kind === 'credited' && event.amount > 0n && !isPayback(event.id)
    if (isNewMoney) this.#overran.delete(event.account)
    const account = this.#accounts.get(event.id)
    if (event.kind === 'settled' && event.overrun > 0n && account !== undefined) this.#overran.add(account)
    if (event.kind === 'late' && event.charge) this.#addLate(event.account, event.charge)
    const hold = this.#holds.get(event.id)
    if (!hold) return
    if (event.kind === 'extended') this.#add(hold, event.amount)
    else if (event.kind === 'settled') this.#add(hold, event.charge - hold.amount)
    else if (event.kind === 'released') this.#add(hold, -hold.amount)
    if (event.kind === 'settled' || event.kind === 'released') this.#holds.delete(event.id)
  }

  /** Whether an account has caused an overrun since its last credit. */
  hasOverrun(account: string): boolean {
    return this.#overran.has(account)
  }

  /** The names of the periods that a hold counts in, whose limits are those of its caller. */
  #periodsOf(account: string, { key, dayEnd, monthEnd }: Omit<LateCharge, 'amount'>): string[] {
    const caps = this.#capsOf(account, key)
    const [a, k] = [accountOwner(account), keyOwner(key)]
    const limits: [string, bigint | null][] = [
      [`${a} day ${dayEnd}`, caps.accountDay],
      [`${a} month ${monthEnd}`, caps.accountMonth],
      [`${k} day ${dayEnd}`, caps.keyDay],
      [`${k} month ${monthEnd}`, caps.keyMonth],
      [`${k} ever`, caps.keyTotal],
    ]
    for (const [name, limit] of limits) this.#limits.set(name, limit)
    return limits.map(([name]) => name)
  }

  #addLate(account: string, charge: LateCharge): void {
    this.#add({ names: this.#periodsOf(account, charge), amount: 0n }, charge.amount)
  }

  #begin(event: Extract<LedgerEvent, { kind: 'held' }>): void {
    const { account, key, dayEnd, monthEnd } = event
    this.#checkAlone(event)
    this.#accounts.set(event.id, account)
    const caps = this.#capsOf(account, key)
    const [a, k] = [accountOwner(account), keyOwner(key)]
    const hold = { names: this.#periodsOf(account, { key, dayEnd, monthEnd }), amount: 0n }
    this.#holds.set(event.id, hold)
    this.#add(hold, event.amount)
    this.#count(`${a} day ${dayEnd}`, caps.accountRequestsPerDay)
    this.#count(`${k} day ${dayEnd}`, caps.keyRequestsPerDay)
  }

  /** A hold that its upstream may exceed must be the only one of its account. */
  #checkAlone(event: Extract<LedgerEvent, { kind: 'held' }>): void {
    const { id, account, amount, price, factorPpm, inputTokens } = event
    const isAlone = ![...this.#holds.keys()].some((open) => this.#accounts.get(open) === account)
    if (isAlone || amount === 0n) return
    const options = this.#optionsOf(id)
    if (!options || options.maximum === 'obeyed') return
    const { mode, maximum } = options
    if (mode === 'stream' && maximum === 'unseen') return
    const needed = maximum === 'exceeded' ? modelTokens : 1024
    const least = costOf(price, { ...noUsage, input: inputTokens, output: needed }, factorPpm)
    assertInvariant(amount >= least, `${id} holds ${amount} instead of ${least} beside another request`)
  }

  #count(name: string, limit: number | null): void {
    const count = (this.#requests.get(name) ?? 0) + 1
    this.#requests.set(name, count)
    assertInvariant(limit === null || count <= limit, `${name} admitted ${count} requests of ${limit}`)
  }

  #add(hold: { names: readonly string[]; amount: bigint }, amount: bigint): void {
    hold.amount += amount
    for (const name of hold.names) {
      const taken = (this.#taken.get(name) ?? 0n) + amount
      this.#taken.set(name, taken)
      const limit = this.#limits.get(name) ?? null
      assertInvariant(amount <= 0n || limit === null || taken <= limit, `${name} took ${taken} of ${limit}`)
    }
  }
}

/** After every step: an account is marked from an overrun until its next credit, as earlier releases expect it. */
function checkOverruns(state: LedgerState, reference: ReferenceModel): void {
  for (const [id, { overran }] of state.owners) {
    if (!id.startsWith(accountOwner(''))) continue
    const expected = reference.hasOverrun(id.slice(accountOwner('').length))
    assertInvariant(overran === expected, `${id} is ${overran ? '' : 'not '}marked after an overrun`)
  }
}

/** After every step: no balance is negative, owners hold the sum of their holds, and no cap is exceeded. */
export function checkState(
  state: LedgerState,
  capsOf: (account: string, key: string) => Caps,
  reference: ReferenceModel,
): void {
  checkOverruns(state, reference)
  const held = new Map<string, bigint>()
  for (const { account, key, amount } of state.holds.values()) {
    for (const id of [accountOwner(account), keyOwner(key)]) held.set(id, (held.get(id) ?? 0n) + amount)
  }
  for (const [id, owner] of state.owners) {
    assertInvariant(
      owner.held === (held.get(id) ?? 0n),
      `${id} holds ${owner.held}, its open holds ${held.get(id) ?? 0n}`,
    )
    if (!id.startsWith(accountOwner(''))) continue
    assertInvariant(owner.balance >= owner.held, `${id} holds ${owner.held} of ${owner.balance}`)
    const { accountDay, accountMonth } = capsOf(id.slice(accountOwner('').length), '')
    const day = owner.daySpent + owner.dayHeld
    assertInvariant(accountDay === null || day <= accountDay, `${id} has ${day} of a day's ${accountDay}`)
    const month = owner.monthSpent + owner.monthHeld
    assertInvariant(
      accountMonth === null || month <= accountMonth,
      `${id} has ${month} of a month's ${accountMonth}`,
    )
  }
}

/** Delivered output is at most 64 tokens past the mark at which a crash would be charged. */
export function checkDelivered(request: SimRequest, disk: SimDisk): void {
  if (request.isOver || request.script.options.mode === 'non-streaming' || request.delivered === 0) return
  const mark = disk.marks.get(request.id)
  const { id, delivered } = request
  assertInvariant(mark !== undefined, `${id} delivered ${delivered} tokens before its hold was on disk`)
  assertInvariant(
    delivered <= (mark ?? 0) + 64,
    `${id} delivered ${delivered} tokens, its mark on disk is ${mark}`,
  )
}

/** At the end: every request is charged as its caller and its upstream observed it. */
export function checkRequests(requests: readonly SimRequest[], disk: SimDisk, state: LedgerState): void {
  assertInvariant(state.holds.size === 0, `${state.holds.size} holds are left`)
  const ends = new Map<string, LedgerEvent[]>()
  for (const event of disk.events()) {
    if (event.kind === 'settled' || event.kind === 'released') {
      ends.set(event.id, [...(ends.get(event.id) ?? []), event])
    }
  }
  for (const request of requests) {
    const goesOn = request.wasSearchDenied && request.endReason === 'complete'
    assertInvariant(!goesOn, `${request.id} went on after a search that is not paid`)
    const [end, ...more] = ends.get(request.id) ?? []
    assertInvariant(more.length === 0, `${request.id} ended ${more.length + 1} times`)
    checkBill(request, end?.kind === 'settled' ? end : null)
  }
}

function checkBill(request: SimRequest, settled: Settled | null): void {
  const { id, script, billed, endReason, delivered, received } = request
  const output = settled?.usage.output ?? 0
  const { price, factorPpm } = script.options
  if (settled) {
    const cost = costOf(price, settled.usage, factorPpm)
    assertInvariant(
      settled.charge + settled.overrun === cost && settled.charge >= 0n,
      `${id} is not charged its cost`,
    )
  }
  const { bound } = request
  if (settled && request.isSettled && billed) checkCovered(request, billed, settled)
  if (settled && request.isSettled && bound) {
    const most = costOf(price, bound, factorPpm)
    assertInvariant(settled.charge <= most, `${id} was charged ${settled.charge}, its bound costs ${most}`)
  }
  if (settled && request.isSettled && script.options.mode === 'stream') {
    const worth = costOf(price, { ...noUsage, output: delivered }, factorPpm)
    assertInvariant(worth <= settled.charge, `${id} delivered tokens for ${worth}, charged ${settled.charge}`)
  }
  if (request.isSettled && endReason === 'complete') {
    assertInvariant(
      output === billed?.output && settled?.cause === 'provider',
      `${id} was completed and charged ${output} tokens`,
    )
    const [charged, made] = [settled?.usage.searches, billed?.searches]
    assertInvariant(charged === made, `${id} was charged ${charged ?? 0} searches of ${made ?? 0}`)
    return
  }
  // The provider may report more than was received, and of a stream that money has ended more than is charged.
  const isReported = bound !== null && output === billed?.output
  const charged = isReported ? bound.output : output
  const most = isReported && endReason !== 'money' ? Math.max(received, charged) : received
  assertInvariant(charged <= most, `${id} was charged ${charged} tokens of ${received} received`)
  assertInvariant(charged >= delivered - 64, `${id} was charged ${charged} tokens of ${delivered} delivered`)
}

/** What a request was granted pays for all that it made of it. */
function checkCovered(
  { id, script, bound, paidTokens, heldSearches }: SimRequest,
  billed: Usage,
  settled: Settled,
): void {
  const isGranted =
    billed.output === bound?.output &&
    billed.input <= script.options.inputTokens &&
    billed.output <= paidTokens &&
    (billed.searches ?? 0) <= heldSearches
  assertInvariant(
    !isGranted || settled.overrun === 0n,
    `${id} was granted what is not paid: ${settled.overrun}`,
  )
}

/** Restoring from disk gives the same state as replaying everything. */
export function checkRestored(disk: SimDisk): void {
  const replayed = emptyState()
  for (const event of disk.events()) apply(replayed, event)
  const restored = disk.restore()
  assertInvariant(restored.overrun === replayed.overrun, 'the restored overrun differs from the replayed one')
  assertInvariant(
    encodeHolds(restored) === encodeHolds(replayed),
    'the restored holds differ from the replayed ones',
  )
  for (const [id, owner] of replayed.owners) {
    const found = restored.owners.get(id) ?? emptyOwner()
    for (const name of [
      'balance',
      'held',
      'daySpent',
      'dayHeld',
      'dayRequests',
      'monthSpent',
      'totalSpent',
      'overran',
    ] as const) {
      assertInvariant(
        found[name] === owner[name],
        `${name} of ${id} restored is ${found[name]}, replayed ${owner[name]}`,
      )
    }
  }
}

/** Money is conserved: the balances are credits less charges, and no confirmed credit is missing. */
export function checkSums(
  disk: SimDisk,
  state: LedgerState,
  reportedCredits: ReadonlyMap<string, bigint>,
): void {
  const credits = new Map<string, bigint>()
  let sum = 0n
  for (const event of disk.events()) {
    if (event.kind === 'credited') {
      credits.set(event.id, event.amount)
      sum += event.amount
    } else if (event.kind === 'settled') sum -= event.charge
    else if (event.kind === 'late') sum -= event.charge?.amount ?? 0n
  }
  let balances = 0n
  for (const { balance } of state.owners.values()) balances += balance
  assertInvariant(balances === sum, `balances are ${balances}, credits less charges ${sum}`)
  for (const [id, amount] of reportedCredits)
    assertInvariant(credits.get(id) === amount, `${id} was confirmed and is missing`)
}
