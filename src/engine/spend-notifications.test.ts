import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Directory } from '../accounts/directory.ts'
import type { Db } from '../db/db.ts'
import { createLedgerCommit, openAnyStore } from '../db/store.fixture.ts'
import type { EnteredCredit } from '../ledger/credits/counted-credits.ts'
import { entryRowsOf } from '../ledger/entries.ts'
import { noCaps, TestLedger } from '../ledger/ledger.fixture.ts'
import { listNotifications } from '../notifications/notifications.ts'
import { SpendNotifications } from './spend-notifications.ts'

const account = 'one'
const spender = { account, key: 'key', dayEnd: 1, monthEnd: 1 }

const credits: readonly EnteredCredit[] = [
  { id: 'payment:bank:m:1', source: 'payment', amount: 1000n },
  { id: 'bonus:S1', source: 'bonus', amount: 5000n },
  { id: 'payback-undone:r1', source: 'payment', amount: 5000n },
  { id: 'payback-bonus-undone:r1', source: 'bonus', amount: 5000n },
]

/** The codes of the notifications after a bill with this balance; `entered`: credits that this process enters. */
async function codesAt(
  t: TestContext,
  balance: bigint,
  entered: readonly EnteredCredit[],
): Promise<string[]> {
  const { db, commit } = await openAnyStore(t)
  const entries = credits.flatMap((credit) =>
    entryRowsOf({ ...credit, kind: 'credited', at: 1, account, reason: 'a test' }, account),
  )
  await commit(createLedgerCommit(1, { entries }))
  const ledger = new TestLedger()
  ledger.credit(balance, 'all', account)
  const reads: Promise<unknown>[] = []
  const observed: Db = {
    ...db,
    first(query) {
      const read = db.first(query)
      reads.push(read)
      return read
    },
  }
  const notifications = new SpendNotifications({
    state: ledger.state,
    directory: new Directory(),
    db: observed,
    currency: 'CNY',
  })
  for (const credit of entered) notifications.onCredited(account, credit)
  notifications.onSettled(spender, noCaps)
  await Promise.all(reads)
  await setImmediate()
  await notifications.close()
  const { data } = await listNotifications(db, { audience: account }, { limit: 10 })
  return data.map(({ code }) => code)
}

describe('low balance', () => {
  for (const [name, entered] of [
    ['entered by this process', credits],
    ['read from the database', []],
  ] as const) {
    test(`a bonus and what is given back, ${name} – do not move the tenth that is low`, async (t) => {
      assert.deepEqual(await codesAt(t, 100n, entered), [])
      assert.deepEqual(await codesAt(t, 99n, entered), ['balance_low'])
    })
  }
})
