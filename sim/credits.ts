/**
 * Credits and paybacks of a simulated node. Their callers repeat them, because an answer or the whole process was lost, and
 * give some back. A credit is entered once under its id, and a payback answers each time what was taken the first time.
 */
import { creditsOf, decide } from '../src/ledger/decide.ts'
import { paybackIds, paybackUndoneIds, type PaybackKind } from '../src/ledger/payback-ids.ts'
import { accountOwner, ownerOf } from '../src/ledger/state.ts'
import type { TakeBackOperation, TakeBackResult } from '../src/ledger/take-back.ts'
import type { CreditingKind, Operation, Results } from '../src/ledger/transaction.ts'
import type { SimAuthority } from './authority.ts'
import type { Bug } from './bugs.ts'
import { accounts } from './callers.ts'
import { assertInvariant } from './checks.ts'
import type { SimDisk } from './disk.ts'
import type { Prng } from './prng.ts'

interface SimCreditsDeps {
  readonly prng: Prng
  readonly bug: Bug | null
  readonly disk: SimDisk
  readonly now: () => number
  /** Of the process that runs now. */
  readonly authority: () => SimAuthority
}

type Taken = Extract<TakeBackResult, { readonly kind: 'taken' }>

interface SimPayback {
  readonly request: Omit<TakeBackOperation, 'at'>
  /** What a caller was answered, durably. */
  answer: Taken | null
}

const kinds = ['payment', 'bonus'] as const

export class SimCredits {
  readonly #deps: SimCreditsDeps
  readonly #paybacks: SimPayback[] = []
  /** The credits that were confirmed to their callers. */
  readonly #confirmed = new Map<string, bigint>()
  /** What is confirmed once a commit is durable. */
  #waiting: { readonly commit: number; readonly confirm: () => void }[] = []
  #count = 0

  constructor(deps: SimCreditsDeps) {
    this.#deps = deps
  }

  get confirmed(): ReadonlyMap<string, bigint> {
    return this.#confirmed
  }

  credit(account: string, amount: bigint): void {
    this.#enter(`credit ${(this.#count += 1)} ${account}`, account, { amount, source: 'credit' })
  }

  /** A payback: a new one, one of the latest again, or one that is given back. */
  payBack(): void {
    const { prng } = this.#deps
    const payback = this.#paybacks.at(-prng.between(1, 3))
    if (payback?.answer && prng.bool(0.2)) this.#giveBack(payback, payback.answer)
    else if (payback && prng.bool(0.4)) this.#take(payback)
    else this.#take(this.#nextPayback())
  }

  /** Commits have become durable. */
  onDurable(): void {
    const { durable } = this.#deps.authority()
    const ready = this.#waiting.filter(({ commit }) => commit <= durable)
    this.#waiting = this.#waiting.filter(({ commit }) => commit > durable)
    for (const { confirm } of ready) confirm()
  }

  /** Answers on their way are lost. */
  onCrash(): void {
    this.#waiting = []
  }

  /** At the end: each payback has taken once what it was answered, and at most that was given back. */
  check(): void {
    const entries = new Map<string, bigint>()
    for (const event of this.#deps.disk.events()) {
      if (event.kind !== 'credited') continue
      assertInvariant(!entries.has(event.id), `${event.id} was entered twice`)
      entries.set(event.id, event.amount)
    }
    for (const { request, answer } of this.#paybacks) {
      const [ids, undone] = [paybackIds(request.id), paybackUndoneIds(request.id)]
      for (const kind of kinds) {
        const taken = -(entries.get(ids[kind]) ?? 0n)
        const isWithin = taken >= 0n && taken <= wantedOf(request, kind)
        assertInvariant(isWithin, `${ids[kind]} took ${taken} of ${wantedOf(request, kind)}`)
        assertInvariant(!answer || answer[kind] === taken, `${ids[kind]} took ${taken}, not as answered`)
        assertInvariant((entries.get(undone[kind]) ?? 0n) <= taken, `${undone[kind]} gave back too much`)
      }
    }
  }

  #nextPayback(): SimPayback {
    const { prng } = this.#deps
    const request = {
      id: `p${(this.#count += 1)}`,
      account: prng.pick(accounts),
      parts: kinds.map((kind) => ({ kind, amount: BigInt(prng.below(kind === 'payment' ? 900 : 90)) })),
      mode: prng.pick(['all', 'available'] as const),
      reason: 'sim',
    }
    const payback: SimPayback = { request, answer: null }
    this.#paybacks.push(payback)
    return payback
  }

  #take(payback: SimPayback): void {
    const { bug, now, authority } = this.#deps
    const { request } = payback
    const { state } = authority()
    const owner = ownerOf(state, accountOwner(request.account))
    const { held } = owner
    if (bug === 'paid back what is held') owner.held = 0n
    const { result, isNew } = this.#decide({ kind: 'takeBack', takeBack: { ...request, at: now() } })
    owner.held = held
    if (result.kind === 'too-much') return
    const [payment, bonus] = [wantedOf(request, 'payment'), wantedOf(request, 'bonus')]
    const isAll = result.payment === payment && result.bonus === bonus
    const { balance } = ownerOf(state, accountOwner(request.account))
    const isExhausted = balance === held && (result.payment === payment || result.bonus === 0n)
    const isRight = isAll || (request.mode === 'available' && isExhausted)
    assertInvariant(!isNew || isRight, `${request.id} took ${result.payment} and ${result.bonus}`)
    this.#whenDurable(() => {
      const first = (payback.answer ??= result)
      const isSame = first.payment === result.payment && first.bonus === result.bonus
      assertInvariant(isSame, `${request.id} was answered differently when it was repeated`)
    })
  }

  #giveBack({ request: { id, account } }: SimPayback, answer: Taken): void {
    const ids = paybackUndoneIds(id)
    for (const source of kinds) {
      if (answer[source] > 0n) this.#enter(ids[source], account, { amount: answer[source], source })
    }
  }

  #enter(
    id: string,
    account: string,
    { amount, source }: { readonly amount: bigint; readonly source: PaybackKind | 'credit' },
  ): void {
    const credit = { id, at: this.#deps.now(), account, amount, source, reason: 'sim' }
    this.#decide({
      kind: 'credit',
      credit,
      keepsOverrun: this.#deps.bug === 'overrun kept after a credit',
    })
    this.#whenDurable(() => this.#confirmed.set(id, amount))
  }

  /** As the store of a single relay does: credits of earlier processes are on the disk. */
  #decide<Kind extends CreditingKind>(
    operation: Operation<Kind> & Operation<CreditingKind>,
  ): { readonly result: Results[Kind]; readonly isNew: boolean } {
    const { disk, bug } = this.#deps
    const authority = this.#deps.authority()
    const { credits } = authority.state
    const { ids } = creditsOf(operation)
    for (const event of disk.events())
      if (event.kind === 'credited' && ids.includes(event.id)) credits.set(event.id, event.amount)
    if (bug === 'paid back twice' && operation.kind === 'takeBack') for (const id of ids) credits.delete(id)
    const isNew = !ids.some((id) => credits.has(id))
    return { result: decide<Kind>(authority, operation), isNew }
  }

  #whenDurable(confirm: () => void): void {
    this.#waiting.push({ commit: this.#deps.authority().newest, confirm })
  }
}

function wantedOf({ parts }: SimPayback['request'], kind: PaybackKind): bigint {
  return parts.find((part) => part.kind === kind)?.amount ?? 0n
}
