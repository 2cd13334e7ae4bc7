import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import fc from 'fast-check'
import { compileQuery, type Db, type Query } from '../../db/db.ts'
import type { EntryRow } from '../../db/ledger-commit.ts'
import {
  createLedgerCommit,
  openAnyStore,
  openTemporaryStore,
  type TestStore,
} from '../../db/store.fixture.ts'
import { accountBook, books, entryRowsOf } from '../entries.ts'
import type { CreditKind } from '../events.ts'
import { paybackIds, paybackUndoneIds } from '../payback-ids.ts'
import { accountOwner } from '../state.ts'
import { insertAccounts } from './accounts.fixture.ts'
import { createPromotion, type Promotion } from './promotions.ts'
import { grantStatements } from './trial-grants.ts'
import { unspentOf, type UnspentQuery } from './unspent.ts'

const at = 1_790_000_000_000
const trialAmount = 20n

/** An order with its place in the order of credits. */
interface Order {
  readonly name: string
  readonly credit: bigint
  readonly bonus: bigint
  /** What its paybacks have taken, less what was given back. */
  taken: bigint
}

/** Writes the ledger of one account, entry by entry, and knows what is unspent of each order. */
class AccountBooks {
  readonly id: string
  readonly entries: EntryRow[] = []
  /** Orders and other credits as they came; an other credit is an amount. */
  readonly lots: (Order | bigint)[] = []
  readonly paybacks: { id: string; creditId: string; parts: { payment: bigint; bonus: bigint } }[] = []
  balance = 0n
  spent = 0n
  /** What was spent when the trial credit came. */
  trialSpentBefore: bigint | null = null

  constructor(id: string) {
    this.id = id
  }

  #enter(ref: string, source: CreditKind, amount: bigint): void {
    this.balance += amount
    const event = {
      kind: 'credited',
      id: ref,
      at,
      account: this.id,
      amount,
      source,
      reason: 'a test',
    } as const
    this.entries.push(...entryRowsOf(event, this.id))
  }

  order(credit: bigint, bonus: bigint): void {
    const name = `${this.id}-${this.lots.length}`
    this.lots.push({ name, credit, bonus, taken: 0n })
    this.#enter(`payment:${name}`, 'payment', credit)
    // A voucher that comes between the two is newer than the order.
    this.gift(1n)
    if (bonus > 0n) this.#enter(`bonus:${name}`, 'bonus', bonus)
  }

  gift(amount: bigint): void {
    this.#enter(`voucher:${this.id}-${this.entries.length}`, 'voucher', amount)
    this.lots.push(amount)
  }

  trial(): void {
    if (this.trialSpentBefore !== null) return
    this.trialSpentBefore = this.spent
    this.#enter(`trial:${this.id}`, 'trial', trialAmount)
  }

  spend(wanted: bigint): void {
    const amount_nanos = wanted < this.balance ? wanted : this.balance
    this.balance -= amount_nanos
    this.spent += amount_nanos
    const sides = { debit: accountBook(this.id), credit: books.revenue, account_id: this.id }
    this.entries.push({ at, ...sides, amount_nanos, kind: 'charge', ref: 'req', reason: null, source: null })
  }

  get #trialSpent(): bigint {
    if (this.trialSpentBefore === null) return 0n
    const since = this.spent - this.trialSpentBefore
    return since < trialAmount ? since : trialAmount
  }

  /** What is unspent of each order, if money is spent in the order in which it came, after trial credit. */
  unspent(): Map<Order, bigint> {
    let spent = this.spent - this.#trialSpent
    const left = new Map<Order, bigint>()
    for (const lot of this.lots) {
      const amount = typeof lot === 'bigint' ? lot : lot.credit + lot.bonus - lot.taken
      const used = spent < amount ? spent : amount
      spent -= used
      if (typeof lot !== 'bigint') left.set(lot, amount - used)
    }
    return left
  }

  /** Takes back from one of the orders, and perhaps gives it back. */
  payback(which: number, wanted: bigint, isUndone: boolean): void {
    const orders = [...this.unspent()]
    const [order, left] = orders[which % (orders.length || 1)] ?? []
    if (!order || !left) return
    const amount = wanted < left ? wanted : left
    const bonus = amount / 3n < order.bonus ? amount / 3n : order.bonus
    const [id, parts] = [`r${this.entries.length}-${this.id}`, { payment: amount - bonus, bonus }]
    this.paybacks.push({ id, creditId: `payment:${order.name}`, parts })
    const [ids, undone] = [paybackIds(id), paybackUndoneIds(id)]
    for (const kind of ['payment', 'bonus'] as const) {
      this.#enter(ids[kind], kind, -parts[kind])
      if (isUndone) this.#enter(undone[kind], kind, parts[kind])
    }
    if (!isUndone) order.taken += amount
  }

  query(order: Order, held = 0n): UnspentQuery {
    const [creditId, bonusId] = [`payment:${order.name}`, order.bonus > 0n ? `bonus:${order.name}` : null]
    return { account: this.id, held, creditId, bonusId, paybacks: this.paybacks }
  }
}

let commits = 0

/** Writes the books of an account. */
async function write(books: AccountBooks, { db, commit }: TestStore, promotion: Promotion): Promise<void> {
  await insertAccounts(db, books.id)
  const template = createLedgerCommit((commits += 1))
  const [owner] = template.owners
  assert.ok(owner)
  const money = { balance_nanos: books.balance, total_spent_nanos: books.spent }
  const owners = [{ ...owner, id: accountOwner(books.id), ...money }]
  if (books.trialSpentBefore !== null) {
    await db.write(...grantStatements(promotion, { account: books.id, mailbox: books.id }, at))
    const sql = 'update trial_grants set spent_before_nanos = ? where account_id = ?'
    await db.write({ sql, parameters: [books.trialSpentBefore, books.id] })
  }
  await commit({ ...template, entries: books.entries, owners })
}

async function openWithPromotion(t: TestContext): Promise<{ store: TestStore; promotion: Promotion }> {
  const store = await openAnyStore(t)
  commits = 0
  const input = { name: 'Welcome', amountNanos: trialAmount, startsAt: at }
  return { store, promotion: await createPromotion(store.db, input, { at, by: 'test' }) }
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

const nanos = fc.bigInt(1n, 100n)
const steps = fc.array(
  fc.record({
    action: fc.constantFrom('order', 'order', 'gift', 'trial', 'spend', 'spend', 'payback', 'undone'),
    amount: nanos,
    other: fc.bigInt(0n, 30n),
  }),
  { minLength: 1, maxLength: 30, size: 'max' },
)

describe('unspentOf', () => {
  test('any history – is what is left if money is spent in the order in which it came', async (t) => {
    const { store, promotion } = await openWithPromotion(t)
    let accounts = 0
    let compared = 0
    await fc.assert(
      fc.asyncProperty(steps, fc.bigInt(0n, 10n), async (history, held) => {
        const account = new AccountBooks(`acc_${(accounts += 1)}`)
        for (const { action, amount, other } of history) {
          if (action === 'order') account.order(amount, other)
          else if (action === 'gift') account.gift(amount)
          else if (action === 'trial') account.trial()
          else if (action === 'spend') account.spend(amount)
          else account.payback(Number(other), amount, action === 'undone')
        }
        await write(account, store, promotion)
        const entitled = account.unspent()
        for (const [order, left] of entitled) {
          const unspent = await unspentOf(store.db, account.query(order))
          // An order of which some was taken back has no more than the rest; the refund's parts see to that.
          assert.equal(least(unspent, order.credit + order.bonus - order.taken), left)
          const free = await unspentOf(store.db, account.query(order, held))
          assert.ok(free <= unspent && free >= unspent - held)
          compared += 1
        }
      }),
      { numRuns: 60 },
    )
    assert.ok(compared > 60, `${compared} orders compared`)
  })

  test('vouchers and trial credit – never become cash, and amounts beyond 64 bits are summed', async (t) => {
    const { store, promotion } = await openWithPromotion(t)
    const account = new AccountBooks('acc_a')
    account.order(100n, 10n)
    account.trial()
    for (let count = 0; count < 3; count += 1) account.gift(4n * 10n ** 18n)
    account.spend(60n + trialAmount)
    account.balance = 50n
    await write(account, store, promotion)
    const [order] = account.unspent().keys()
    assert.ok(order)
    assert.equal(await unspentOf(store.db, account.query(order)), 0n)
  })

  test('many paybacks – are more than the parameters of a statement, and still count', async (t) => {
    const { store, promotion } = await openWithPromotion(t)
    const account = new AccountBooks('acc_a')
    account.order(100n, 0n)
    account.order(50n, 0n)
    account.payback(1, 20n, false)
    await write(account, store, promotion)
    const [order] = account.unspent().keys()
    assert.ok(order)
    const query = account.query(order)
    // Refunds that took nothing, before the one that did.
    const others = Array.from({ length: 14_000 }, (_, count) => ({ id: `none${count}`, creditId: 'none' }))
    assert.equal(await unspentOf(store.db, { ...query, paybacks: [...others, ...query.paybacks] }), 100n)
  })

  test('an order whose credit is not in the ledger yet – has nothing to give back', async (t) => {
    const { store, promotion } = await openWithPromotion(t)
    const account = new AccountBooks('acc_a')
    account.gift(100n)
    await write(account, store, promotion)
    const order = { name: 'later', credit: 10n, bonus: 1n, taken: 0n }
    assert.equal(await unspentOf(store.db, account.query(order)), 0n)
  })
})

describe('query plans of unspentOf', () => {
  test('charges – are not read', async (t) => {
    const store = await openTemporaryStore(t)
    const account = new AccountBooks('acc_a')
    account.order(100n, 10n)
    account.payback(0, 5n, false)
    await store.commit(createLedgerCommit(1, { entries: account.entries }))
    const plans: string[] = []
    const plan = async <Result>(query: Query<Result>): Promise<Query<Result>> => {
      const { sql, parameters } = compileQuery(query)
      const rows = await store.db.all<{ detail: string }>({ sql: `explain query plan ${sql}`, parameters })
      plans.push(...rows.map(({ detail }) => detail))
      return query
    }
    const explaining: Db = {
      ...store.db,
      all: async (query) => store.db.all(await plan(query)),
      first: async (query) => store.db.first(await plan(query)),
    }
    const [order] = account.unspent().keys()
    assert.ok(order)
    await unspentOf(explaining, account.query(order))
    const reads = plans.filter((detail) => detail.includes('entries'))
    assert.equal(reads.length, 2, plans.join('\n'))
    for (const detail of reads)
      assert.match(
        detail,
        /SEARCH entries USING INDEX (entries_by_ref|entries_of_credits|credits_by_account)/,
      )
  })
})
