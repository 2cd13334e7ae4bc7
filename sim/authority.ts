/**
 * The authority of the simulated node: the real decisions over the real journal format, with a group commit whose writes
 * the simulator controls. Its responses and their timing follow src/engine/authority.ts and its commit queue.
 */
import { accountOwner, keyOwner, ownerOf, type LedgerState } from '../src/ledger/state.ts'
import type { StoredResponseRow } from '../src/db/ledger-commit.ts'
import { availableNanos, type Caps } from '../src/ledger/caps.ts'
import { apply } from '../src/ledger/apply.ts'
import { decide } from '../src/ledger/decide.ts'
import type { LedgerTransaction, RetiredHold } from '../src/ledger/transaction.ts'
import { EarlyAborts } from '../src/limits/early-aborts.ts'
import type { LedgerEvent } from '../src/ledger/events.ts'
import type { HoldSize } from '../src/ledger/holds.ts'
import * as ledger from '../src/ledger/operations.ts'
import { EndedClaims } from '../src/engine/sqlite/ended-claims.ts'
import { disguise, type Bug } from './bugs.ts'
import { buildCommit, type SimCommit, type SimDisk } from './disk.ts'
import { makeCheckedHold, type CheckedHold } from './checked-hold.ts'
import { holdOperation } from './hold-operation.ts'
import type { SimResponse, SimMessage, SimReply } from './messages.ts'
import { noCaps, RetiredHolds } from './retired-holds.ts'
import { moveToPresent, settleRequest } from './settle-request.ts'

const holdTimeoutMs = 200_000
/** Early aborts of an account that are free within an hour. */
export const freeAborts = 1
export interface AuthorityDeps {
  readonly disk: SimDisk
  readonly now: () => number
  /** A clock that never goes back. */
  readonly monotonicNow: () => number
  readonly capsOf: (account: string, key: string) => Caps
  /** Sends a reply to a worker. */
  readonly send: (reply: SimReply) => void
  /** `isExpiry`: the death of its worker or of the process has ended the request. */
  readonly onEvent: (event: LedgerEvent, isExpiry: boolean) => void
  readonly bug: Bug | null
}

interface PendingReply {
  readonly awaitedCommit: number
  readonly reply: SimReply
}

export class SimAuthority implements LedgerTransaction {
  readonly state: LedgerState
  readonly #deps: AuthorityDeps
  /** The worker of each open request. */
  readonly #openRequests = new Map<string, number>()
  readonly #retired: RetiredHolds
  readonly #earlyAborts: EarlyAborts
  #events: LedgerEvent[] = []
  #storedResponses: StoredResponseRow[] = []
  readonly #endedClaims: EndedClaims
  /** With an injected bug: the response of a request that ends now is not stored. */
  #isClaimLost = false
  #isExpiring = false
  #writing: SimCommit | null = null
  #next: number
  #durable: number
  #pendingReplies: PendingReply[] = []
  #checked: CheckedHold[] = []

  constructor(deps: AuthorityDeps) {
    this.#deps = deps
    this.state = deps.disk.restore()
    this.#durable = deps.disk.lastSeq
    this.#next = this.#durable + 1
    this.#retired = new RetiredHolds(deps)
    this.#earlyAborts = new EarlyAborts(deps.bug === 'free early aborts charged' ? 0 : freeAborts)
    this.#endedClaims = new EndedClaims(deps.monotonicNow, this.newest)
  }

  /** Ends the requests that an earlier process left open. */
  recover(): void {
    for (const id of this.state.holds.keys()) this.#expire(id)
    while (this.canWrite || this.isWriting) {
      if (this.isWriting) this.finishWrite()
      else this.startWrite()
    }
  }

  addEvent(event: LedgerEvent): void {
    this.#events.push(event)
    this.#deps.onEvent(event, this.#isExpiring)
  }

  /** The simulator checks no rows of requests. */
  addRequest(): void {}

  addStoredResponse(row: StoredResponseRow, claim: string): void {
    if (this.#isClaimLost) return
    this.#storedResponses.push(row)
    this.#endedClaims.add(claim, this.#next)
  }

  storedBy(claim: string, seenCommit: number): number | null {
    return this.#endedClaims.storedBy(claim, seenCommit)
  }

  takeRetired(id: string): RetiredHold | undefined {
    return this.#retired.take(id)
  }

  get durable(): number {
    return this.#durable
  }

  get canWrite(): boolean {
    return this.#writing === null && this.#events.length > 0
  }

  get isWriting(): boolean {
    return this.#writing !== null
  }

  /** The commit being written; a crash may lose it or not. */
  get commitBeingWritten(): SimCommit | null {
    return this.#writing
  }

  startWrite(): void {
    this.#writing = buildCommit(
      this.#next,
      { events: this.#events, storedResponses: this.#storedResponses },
      this.state,
    )
    this.#events = []
    this.#storedResponses = []
    this.#next += 1
  }

  finishWrite(): void {
    const commit = this.#writing
    if (!commit) return
    this.#writing = null
    this.#deps.disk.write(commit)
    this.#durable = commit.seq
    const ready = this.#pendingReplies.filter((pending) => pending.awaitedCommit <= commit.seq)
    this.#pendingReplies = this.#pendingReplies.filter((pending) => pending.awaitedCommit > commit.seq)
    for (const { reply } of ready) this.#deps.send(reply)
    for (const worker of new Set(this.#openRequests.values())) {
      this.#deps.send({ worker, call: -1, id: '', response: { kind: 'durable', commit: commit.seq } })
    }
  }

  /** A worker has died: its requests end at their last marks. */
  workerLost(worker: number): void {
    this.#pendingReplies = this.#pendingReplies.filter(({ reply }) => reply.worker !== worker)
    for (const [id, owner] of this.#openRequests) if (owner === worker) this.#retire(id)
  }

  /** Ends a request at its last mark. If its node comes back, the rest is charged. */
  #retire(id: string): void {
    const hold = this.state.holds.get(id)
    const charge = this.#expire(id)
    if (hold) this.#retired.add(hold, charge)
  }

  handle(message: SimMessage): void {
    const { id, operation } = message
    const at = this.#deps.now()
    if (operation.kind === 'hold') return this.#hold(message, operation)
    const held = this.state.holds.get(id)
    const caps = held ? this.#deps.capsOf(held.account, held.key) : null
    if (operation.kind === 'mark') {
      const { input: inputTokens, output: outputTokens } = operation
      decide(this, { kind: 'mark', id, at, inputTokens, outputTokens })
      return this.#reply(message, { kind: 'marked' })
    }
    if (operation.kind === 'extend') {
      const { remaining } = operation
      const searches = this.#deps.bug === 'searches not held' ? 0 : operation.searches
      const paidTokens = caps ? decide(this, { kind: 'extend', id, at, remaining, searches, caps }) : 0
      return this.#reply(message, { kind: 'extended', paidTokens })
    }
    this.#settle(message, operation)
  }

  /** With an injected bug: makes a hold that was checked earlier, or ends holds after a timeout. */
  actOnBug(): void {
    const checked = this.#checked.shift()
    if (checked) this.#makeCheckedHold(checked)
    if (this.#deps.bug !== 'released by timeout') return
    const at = this.#deps.now()
    for (const hold of this.state.holds.values()) {
      if (at - hold.at < holdTimeoutMs) continue
      this.#release(hold.id, at)
    }
  }

  #hold(message: SimMessage, { options, claim }: Extract<SimMessage['operation'], { kind: 'hold' }>): void {
    const { account, key } = options
    const caps = this.#deps.capsOf(account, key)
    if (this.#deps.bug === 'check-then-act' && !this.state.holds.has(message.id)) {
      const owner = ownerOf(this.state, accountOwner(account))
      const available = availableNanos(owner, ownerOf(this.state, keyOwner(key)), caps)
      this.#checked.push({ message, options, available })
      return
    }
    const restore = disguise(this.#deps.bug, this.state.owners.get(accountOwner(account)))
    const claimed = claim && { key: claim.key, body: claim.body }
    const hold = { ...holdOperation(message.id, options, this.#deps), caps, claim: claimed }
    const result = decide(this, { kind: 'hold', hold, timezone: 'UTC', seenCommit: claim?.seenCommit })
    restore()
    if ('event' in result) this.#grant(message, result)
    else if (result.kind === 'stored') {
      const { commit } = result
      this.#reply(message, { kind: 'retry after commit', commit }, commit)
    } else this.#deps.send({ ...message, response: { kind: 'denied' } })
  }

  #grant(
    message: SimMessage,
    { outputTokens: paidTokens, maximumTokens: maxTokens }: Pick<HoldSize, 'outputTokens' | 'maximumTokens'>,
  ): void {
    this.#openRequests.set(message.id, message.worker)
    this.#deps.send({ ...message, response: { kind: 'granted', paidTokens, maxTokens, commit: this.#next } })
  }

  #makeCheckedHold(checked: CheckedHold): void {
    const { message } = checked
    const made = this.state.holds.has(message.id) ? null : makeCheckedHold(checked, this.#deps)
    if (!made) return this.#deps.send({ ...message, response: { kind: 'denied' } })
    apply(this.state, made.event)
    this.addEvent(made.event)
    this.#grant(message, made.size)
  }

  #settle(message: SimMessage, settlement: Extract<SimMessage['operation'], { kind: 'settle' }>): void {
    const { usage, stored } = settlement
    const { id } = message
    const at = this.#deps.now()
    const held = this.state.holds.get(id)
    this.#openRequests.delete(id)
    const { bug } = this.#deps
    if (held || this.#retired.has(id)) {
      const caps = held ? this.#deps.capsOf(held.account, held.key) : noCaps
      if (held && bug === 'cap by the wall clock') moveToPresent(this.state, held)
      const counted = { earlyAborts: this.#earlyAborts, now: this.#deps.monotonicNow(), bug }
      const request = settleRequest(id, settlement, { held, ...counted })
      const storedResponse = stored && { sealed: stored.response, isComplete: stored.isComplete }
      decide(this, { kind: 'settle', request, storedResponse, otherPrice: undefined, at, caps })
    } else if (bug === 'not idempotent' && usage) {
      const account = ownerOf(this.state, accountOwner('a0'))
      account.balance -= BigInt(usage.input + usage.output)
    }
    if (bug === 'confirmed before durable') this.#deps.send({ ...message, response: { kind: 'settled' } })
    else this.#reply(message, { kind: 'settled' })
  }

  /** Returns what is charged. */
  #expire(id: string): bigint {
    const held = this.state.holds.get(id)
    this.#openRequests.delete(id)
    if (!held) return 0n
    const at = this.#deps.now()
    const { bug, capsOf } = this.#deps
    this.#isClaimLost = bug === 'claim lost in a crash'
    this.#isExpiring = true
    let charge: bigint | null = null
    if (bug === 'released on a crash') this.#release(id, at)
    else
      charge = decide(this, { kind: 'expire', id, at, caps: capsOf(held.account, held.key), upstream: null })
    this.#isExpiring = false
    this.#isClaimLost = false
    return charge ?? 0n
  }

  /** With an injected bug: nothing is charged. */
  #release(id: string, at: number): void {
    const event = ledger.release(this.state, { id, at })
    if (event) this.addEvent(event)
  }

  get newest(): number {
    return this.#events.length > 0 ? this.#next : this.#next - 1
  }

  /** Replies once a commit is on disk: the commit of everything decided so far unless another is given. */
  #reply(message: SimMessage, answer: SimResponse, commit = this.newest): void {
    const reply: SimReply = { worker: message.worker, call: message.call, id: message.id, response: answer }
    if (commit <= this.#durable) this.#deps.send(reply)
    else this.#pendingReplies.push({ awaitedCommit: commit, reply })
  }
}
