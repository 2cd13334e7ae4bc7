/**
 * Notifies users before, and when, their balance or a cap is used up. The authority calls it with every bill and denial; it
 * only compares, and writes notifications later, outside of requests. It remembers what it has sent, so that the database
 * gets each notification once; after a restart the database itself rejects repetitions.
 */
import type { Directory } from '../accounts/directory.ts'
import type { Db } from '../db/db.ts'
import type { CapName, Caps, Denial } from '../ledger/caps.ts'
import type { PeriodEnds } from '../ledger/periods.ts'
import type { ClaimConflict } from '../ledger/transaction.ts'
import { countsAsLastCredit, lastCreditOf, type EnteredCredit } from '../ledger/credits/counted-credits.ts'
import { accountOwner, keyOwner, ownerOf, type LedgerState, type Owner } from '../ledger/state.ts'
import { formatAmount } from '../lib/money.ts'
import { capPeriod, raiseNotification, type NotificationInput } from '../notifications/notifications.ts'

export interface SpendNotificationsDeps {
  readonly state: LedgerState
  readonly directory: Directory
  readonly db: Db
  readonly currency: string
}

interface Spender {
  readonly account: string
  readonly key: string
}

/** The last credit: it determines what a low balance is, and users are notified once for each. */
interface LastCredit {
  readonly ref: string
  /** A tenth of it. */
  readonly tenth: bigint
}

/** Learns after each charge what the account has left: its balance less what is held, in nanos. Must return at once. */
export type ChargeListener = (account: string, availableNanos: bigint) => void

/** One of the three notifications of a cap in a period; `end` 0: the lifetime of a key. */
interface CapThreshold {
  readonly name: CapName
  readonly level: 50 | 80 | 100
  readonly cap: bigint
  readonly end: number
}

interface CapKind {
  readonly name: 'account_daily' | 'account_monthly' | 'key_daily' | 'key_monthly' | 'key_total'
  readonly isOfKey: boolean
  readonly end: (periods: PeriodEnds) => number
  /** The amount that was spent in the period with this end. */
  readonly spent: (owner: Owner, end: number) => bigint
}

const daily: Pick<CapKind, 'end' | 'spent'> = {
  end: ({ dayEnd }) => dayEnd,
  spent: (owner, end) => (owner.dayEnd === end ? owner.daySpent : 0n),
}
const monthly: Pick<CapKind, 'end' | 'spent'> = {
  end: ({ monthEnd }) => monthEnd,
  spent: (owner, end) => (owner.monthEnd === end ? owner.monthSpent : 0n),
}

const capKinds: Readonly<Record<CapName, CapKind>> = {
  accountDay: { name: 'account_daily', isOfKey: false, ...daily },
  accountMonth: { name: 'account_monthly', isOfKey: false, ...monthly },
  keyDay: { name: 'key_daily', isOfKey: true, ...daily },
  keyMonth: { name: 'key_monthly', isOfKey: true, ...monthly },
  keyTotal: { name: 'key_total', isOfKey: true, end: () => 0, spent: (owner) => owner.totalSpent },
}
const capNames = Object.keys(capKinds) as readonly CapName[]

const severities = { 50: 'info', 80: 'warning', 100: 'critical' } as const

const noCredit: LastCredit = { ref: '', tenth: 0n }
/** How long notifications are batched before they are written. */
const batchDelayMs = 20
/** After how long a failed write is retried. */
const retryMs = 5000
/** More are dropped: if the condition persists, the next bill raises them again. */
const maxPending = 10_000
const maxNotified = 100_000
const maxAccounts = 100_000

export class SpendNotifications {
  readonly #deps: SpendNotificationsDeps
  /** `null`: being loaded. */
  readonly #credits = new Map<string, LastCredit | null>()
  readonly #notified = new Set<string>()
  #pending: NotificationInput[] = []
  #timer: NodeJS.Timeout | undefined
  #onCharged: ChargeListener | null = null
  #writing: Promise<void> = Promise.resolve()

  constructor(deps: SpendNotificationsDeps) {
    this.#deps = deps
  }

  /** Replaces the listener, of which there is one. */
  listen(onCharged: ChargeListener): void {
    this.#onCharged = onCharged
  }

  /** A request was billed in these periods. */
  onSettled(spender: Spender & PeriodEnds, caps: Caps): void {
    const { account } = spender
    for (const name of capNames) {
      const cap = caps[name]
      if (cap !== null) this.#checkCap(name, cap, capKinds[name].end(spender), spender)
    }
    const owner = ownerOf(this.#deps.state, accountOwner(account))
    this.#checkBalance(account, owner)
    this.#onCharged?.(account, owner.balance - owner.held)
  }

  /**
   * A request was denied. A cap or the balance counts as used up if nothing else is held, or if it is nearly spent; not if
   * other requests temporarily hold more than they may need.
   */
  onDenied(spender: Spender & { readonly caps: Caps }, denial: Denial | ClaimConflict): void {
    if (denial.kind === 'balance') {
      const account = ownerOf(this.#deps.state, accountOwner(spender.account))
      const low = isLow(account, this.#lowBalanceThreshold(spender.account))
      if (low || account.held === 0n) this.#notifyBalance(spender.account, account, 'balance_used_up')
      return
    }
    if (denial.kind !== 'cap') return
    const cap = spender.caps[denial.cap] ?? 0n
    const end = denial.resumesAt ?? 0
    const owner = this.#ownerOf(denial.cap, spender)
    if (cap === 0n) return
    const isNear = capKinds[denial.cap].spent(owner, end) * 5n >= cap * 4n
    // A denial may arrive before the bills of concurrent requests: the levels must still be sent in their order.
    if (isNear) this.#notifyCap({ name: denial.cap, level: 80, cap, end }, spender)
    if (isNear || owner.held === 0n) this.#notifyCap({ name: denial.cap, level: 100, cap, end }, spender)
  }

  /** A credit was entered. */
  onCredited(account: string, credit: EnteredCredit): void {
    if (!countsAsLastCredit(credit)) return
    this.#credits.set(account, { ref: credit.id, tenth: credit.amount / 10n })
  }

  /** Writes what is pending, at the end of the process. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#writing
    await this.#write()
    clearTimeout(this.#timer)
  }

  #ownerOf(name: CapName, spender: Spender): Owner {
    const id = capKinds[name].isOfKey ? keyOwner(spender.key) : accountOwner(spender.account)
    return ownerOf(this.#deps.state, id)
  }

  #checkCap(name: CapName, cap: bigint, end: number, spender: Spender): void {
    const spent = capKinds[name].spent(this.#ownerOf(name, spender), end)
    if (cap === 0n || spent * 2n < cap) return
    const isNear = spent * 5n >= cap * 4n
    this.#notifyCap({ name, level: isNear ? 80 : 50, cap, end }, spender)
    if (spent >= cap) this.#notifyCap({ name, level: 100, cap, end }, spender)
  }

  #notifyCap({ name, level, cap, end }: CapThreshold, spender: Spender): void {
    const { directory, currency } = this.#deps
    const capKind = capKinds[name]
    const period = capPeriod({ end, cap, level })
    const subject = capKind.isOfKey ? `key:${spender.key}:${capKind.name}_cap` : `${capKind.name}_cap`
    if (!this.#markNotified(`${spender.account} ${subject} ${period}`)) return
    const params: Record<string, string> = {
      spent: formatAmount(capKind.spent(this.#ownerOf(name, spender), end)),
      cap: formatAmount(cap),
      currency,
      timezone: directory.account(spender.account)?.timezone ?? 'UTC',
    }
    if (capKind.isOfKey)
      Object.assign(params, { key: directory.keyName(spender.key) ?? '', key_id: spender.key })
    if (end > 0) params['resumes_at'] = new Date(end).toISOString()
    const severity = severities[level]
    const code = `${capKind.name}_cap_${level}` as const
    this.#enqueue({ audience: spender.account, kind: 'spend_cap', severity, subject, period, code, params })
  }

  /** The balance below which an account is notified; `null` while no credit is known. */
  #lowBalanceThreshold(account: string): bigint | null {
    const own = this.#deps.directory.account(account)?.lowBalanceNanos ?? null
    const credit = this.#credits.get(account)
    if (credit === undefined) this.#loadLastCredit(account)
    if (!credit || credit === noCredit) return null
    return own ?? credit.tenth
  }

  #checkBalance(id: string, account: Owner): void {
    if (!isLow(account, this.#lowBalanceThreshold(id))) return
    this.#notifyBalance(id, account, account.balance === 0n ? 'balance_used_up' : 'balance_low')
  }

  #notifyBalance(account: string, owner: Owner, code: 'balance_low' | 'balance_used_up'): void {
    const credit = this.#credits.get(account)
    if (!credit || credit === noCredit) return
    // Sent again after the next credit.
    const period = `${credit.ref}:${code}`
    if (!this.#markNotified(`${account} ${period}`)) return
    const params = { balance: formatAmount(owner.balance), currency: this.#deps.currency }
    const severity = code === 'balance_used_up' ? 'critical' : 'warning'
    this.#enqueue({ audience: account, kind: 'balance', severity, subject: 'balance', period, code, params })
  }

  /** Loads the last credit of an account that spends for the first time since the start. */
  #loadLastCredit(account: string): void {
    const { db, state } = this.#deps
    if (this.#credits.size >= maxAccounts) this.#credits.clear()
    this.#credits.set(account, null)
    lastCreditOf(db, account).then(
      (credit) => {
        // A credit that was entered in the meantime is newer.
        const last = credit ? { ref: credit.ref, tenth: credit.nanos / 10n } : noCredit
        if (this.#credits.get(account) === null) this.#credits.set(account, last)
        this.#checkBalance(account, ownerOf(state, accountOwner(account)))
      },
      () => this.#credits.delete(account),
    )
  }

  #markNotified(what: string): boolean {
    if (this.#notified.has(what)) return false
    if (this.#notified.size >= maxNotified) this.#notified.clear()
    this.#notified.add(what)
    return true
  }

  #enqueue(notification: NotificationInput): void {
    if (this.#pending.length < maxPending) this.#pending.push(notification)
    this.#timer ??= setTimeout(() => this.#writeSoon(), batchDelayMs)
  }

  #writeSoon(): void {
    this.#writing = this.#writing.then(() => this.#write())
  }

  async #write(): Promise<void> {
    this.#timer = undefined
    const batch = this.#pending
    this.#pending = []
    try {
      await raiseNotification(this.#deps.db, ...batch)
    } catch {
      // The store reports by itself that it rejects writes.
      this.#pending = [...batch, ...this.#pending]
      this.#timer ??= setTimeout(() => this.#writeSoon(), retryMs)
    }
  }
}

function isLow(account: Owner, threshold: bigint | null): boolean {
  return threshold !== null && account.balance < threshold
}
