/**
 * Tells people before, and when, their money or a cap ends. The authority calls it where bills and refusals are decided:
 * it compares, only where a cap or a balance is near its end, and raises notices later, outside of every request.
 * What was told is remembered so that the database hears of it once; after a start it refuses repetitions itself.
 */
import type { Directory } from '../../accounts/directory.ts'
import type { Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'
import type { CapName, Caps, Denial, Periods } from '../../ledger/caps.ts'
import { books } from '../../ledger/entries.ts'
import { accountOwner, keyOwner, ownerOf, type LedgerState, type Owner } from '../../ledger/state.ts'
import { decimalOf } from '../../lib/money.ts'
import { raiseNotice, type NoticeInput } from '../../notifications/notifications.ts'
import { currency } from '../../usage/request-records.ts'

export interface SpendNoticeParts {
  readonly state: LedgerState
  readonly directory: Directory
  readonly db: Db
}

interface Spender {
  readonly account: string
  readonly key: string
}

/** The last money that came in: what a low balance is measured by, and told once for. */
interface LastCredit {
  readonly ref: string
  /** A tenth of it. */
  readonly tenth: bigint
}

/** One of the three notices of one cap in one period; `end` 0: of a key's life. */
interface Level {
  readonly name: CapName
  readonly level: 50 | 80 | 100
  readonly cap: bigint
  readonly end: number
}

interface Bucket {
  readonly name: 'account_daily' | 'account_monthly' | 'key_daily' | 'key_monthly' | 'key_total'
  readonly ofKey: boolean
  /** What was spent in the period with this end. */
  readonly spent: (owner: Owner, end: number) => bigint
}

const daySpent = (owner: Owner, end: number): bigint => (owner.dayEnd === end ? owner.daySpent : 0n)
const monthSpent = (owner: Owner, end: number): bigint => (owner.monthEnd === end ? owner.monthSpent : 0n)

const buckets: Readonly<Record<CapName, Bucket>> = {
  accountDay: { name: 'account_daily', ofKey: false, spent: daySpent },
  accountMonth: { name: 'account_monthly', ofKey: false, spent: monthSpent },
  keyDay: { name: 'key_daily', ofKey: true, spent: daySpent },
  keyMonth: { name: 'key_monthly', ofKey: true, spent: monthSpent },
  keyTotal: { name: 'key_total', ofKey: true, spent: (owner) => owner.totalSpent },
}

const severities = { 50: 'info', 80: 'warning', 100: 'critical' } as const

const noCredit: LastCredit = { ref: '', tenth: 0n }
/** Notices gather for so long before they are written. */
const gatherMs = 20
/** How long a store that takes no writes is left alone. */
const retryMs = 5000
/** More than this many are not kept: what still holds at the next bill is told again. */
const waitingMost = 10_000
const toldMost = 100_000
const accountsMost = 100_000

/** The last money that came to an account, refunds apart. */
async function lastCreditOf(db: Db, account: string): Promise<LastCredit> {
  const query = sql
    .selectFrom('entries')
    .select(['ref', 'amount_nanos'])
    .where('account_id', '=', account)
    .where('reason', 'is not', null)
    .where('debit', '=', books.funding)
    .where('source', '!=', 'refund')
    .orderBy('id', 'desc')
    .limit(1)
  const row = await db.first(query)
  return row ? { ref: row.ref ?? '', tenth: row.amount_nanos / 10n } : noCredit
}

export class SpendNotices {
  readonly #parts: SpendNoticeParts
  /** `null`: being looked up. */
  readonly #credits = new Map<string, LastCredit | null>()
  readonly #told = new Set<string>()
  #waiting: NoticeInput[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()

  constructor(parts: SpendNoticeParts) {
    this.#parts = parts
  }

  /** A request was billed, in these periods. */
  settled(spender: Spender & Periods, caps: Caps): void {
    const { dayEnd, monthEnd, account } = spender
    if (caps.accountDay !== null) this.#watchCap('accountDay', caps.accountDay, dayEnd, spender)
    if (caps.accountMonth !== null) this.#watchCap('accountMonth', caps.accountMonth, monthEnd, spender)
    if (caps.keyDay !== null) this.#watchCap('keyDay', caps.keyDay, dayEnd, spender)
    if (caps.keyMonth !== null) this.#watchCap('keyMonth', caps.keyMonth, monthEnd, spender)
    if (caps.keyTotal !== null) this.#watchCap('keyTotal', caps.keyTotal, 0, spender)
    this.#watchBalance(account, ownerOf(this.#parts.state, accountOwner(account)))
  }

  /**
   * A request was refused. A cap, or the balance, counts as reached where it is in the way by itself, or nearly
   * spent: not where other requests hold, for the moment, what they may not need.
   */
  denied(spender: Spender, denial: Denial, caps: Caps): void {
    if (denial.kind === 'balance') {
      const account = ownerOf(this.#parts.state, accountOwner(spender.account))
      const low = isLow(account, this.#lowMark(spender.account))
      if (low || account.held === 0n) this.#tellBalance(spender.account, account, 'balance_used_up')
      return
    }
    if (denial.kind !== 'cap') return
    const cap = caps[denial.cap] ?? 0n
    const end = denial.resumesAt ?? 0
    const owner = this.#ownerOf(denial.cap, spender)
    if (cap === 0n) return
    const isNear = buckets[denial.cap].spent(owner, end) * 5n >= cap * 4n
    // A refusal may be heard of before the bills beside it: the levels are told in their order all the same.
    if (isNear) this.#tellCap({ name: denial.cap, level: 80, cap, end }, spender)
    if (isNear || owner.held === 0n) this.#tellCap({ name: denial.cap, level: 100, cap, end }, spender)
  }

  /** Money came in. */
  credited(account: string, ref: string, nanos: bigint): void {
    if (nanos > 0n) this.#credits.set(account, { ref, tenth: nanos / 10n })
  }

  /** Writes what waits; for the end of the process. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#writing
    await this.#write()
    clearTimeout(this.#timer)
  }

  #ownerOf(name: CapName, spender: Spender): Owner {
    const id = buckets[name].ofKey ? keyOwner(spender.key) : accountOwner(spender.account)
    return ownerOf(this.#parts.state, id)
  }

  #watchCap(name: CapName, cap: bigint, end: number, spender: Spender): void {
    const spent = buckets[name].spent(this.#ownerOf(name, spender), end)
    if (cap === 0n || spent * 2n < cap) return
    const isNear = spent * 5n >= cap * 4n
    this.#tellCap({ name, level: isNear ? 80 : 50, cap, end }, spender)
    if (spent >= cap) this.#tellCap({ name, level: 100, cap, end }, spender)
  }

  #tellCap({ name, level, cap, end }: Level, spender: Spender): void {
    const { directory } = this.#parts
    const bucket = buckets[name]
    // Another cap is another thing to be told about, also within the same day.
    const period = `${end}:${cap}:${level}`
    const subject = bucket.ofKey ? `key:${spender.key}:${bucket.name}_cap` : `${bucket.name}_cap`
    if (!this.#isNew(`${spender.account} ${subject} ${period}`)) return
    const params: Record<string, string> = {
      spent: decimalOf(bucket.spent(this.#ownerOf(name, spender), end)),
      cap: decimalOf(cap),
      currency,
      timezone: directory.account(spender.account)?.timezone ?? 'UTC',
    }
    if (bucket.ofKey)
      Object.assign(params, { key: directory.nameOfKey(spender.key) ?? '', key_id: spender.key })
    if (end > 0) params['resumes_at'] = new Date(end).toISOString()
    const severity = severities[level]
    const code = `${bucket.name}_cap_${level}` as const
    this.#tell({ audience: spender.account, kind: 'spend_cap', severity, subject, period, code, params })
  }

  /** The balance below which an account hears of it; `null` while nothing is known. */
  #lowMark(account: string): bigint | null {
    const own = this.#parts.directory.account(account)?.lowBalanceNanos ?? null
    const credit = this.#credits.get(account)
    if (credit === undefined) this.#lookUp(account)
    if (!credit || credit === noCredit) return null
    return own ?? credit.tenth
  }

  #watchBalance(id: string, account: Owner): void {
    if (!isLow(account, this.#lowMark(id))) return
    this.#tellBalance(id, account, account.balance === 0n ? 'balance_used_up' : 'balance_low')
  }

  #tellBalance(account: string, owner: Owner, code: 'balance_low' | 'balance_used_up'): void {
    const credit = this.#credits.get(account)
    if (!credit || credit === noCredit) return
    // Told again once money has come in since.
    const period = `${credit.ref}:${code}`
    if (!this.#isNew(`${account} ${period}`)) return
    const params = { balance: decimalOf(owner.balance), currency }
    const severity = code === 'balance_used_up' ? 'critical' : 'warning'
    this.#tell({ audience: account, kind: 'balance', severity, subject: 'balance', period, code, params })
  }

  /** Looks up the last credit of an account that spends for the first time since the start. */
  #lookUp(account: string): void {
    const { db, state } = this.#parts
    if (this.#credits.size >= accountsMost) this.#credits.clear()
    this.#credits.set(account, null)
    lastCreditOf(db, account).then(
      (credit) => {
        // What came in meanwhile is newer.
        if (this.#credits.get(account) === null) this.#credits.set(account, credit)
        this.#watchBalance(account, ownerOf(state, accountOwner(account)))
      },
      () => this.#credits.delete(account),
    )
  }

  #isNew(what: string): boolean {
    if (this.#told.has(what)) return false
    if (this.#told.size >= toldMost) this.#told.clear()
    this.#told.add(what)
    return true
  }

  #tell(notice: NoticeInput): void {
    if (this.#waiting.length < waitingMost) this.#waiting.push(notice)
    this.#timer ??= setTimeout(() => this.#writeSoon(), gatherMs)
  }

  #writeSoon(): void {
    this.#writing = this.#writing.then(() => this.#write())
  }

  async #write(): Promise<void> {
    this.#timer = undefined
    const batch = this.#waiting
    this.#waiting = []
    try {
      await raiseNotice(this.#parts.db, ...batch)
    } catch {
      // The store says for itself that it takes no writes.
      this.#waiting = [...batch, ...this.#waiting]
      this.#timer ??= setTimeout(() => this.#writeSoon(), retryMs)
    }
  }
}

function isLow(account: Owner, mark: bigint | null): boolean {
  return mark !== null && account.balance < mark
}
