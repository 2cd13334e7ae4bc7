import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadLeftPeriods } from '../../db/left-periods.ts'
import { createRequestRow, openAnyStore } from '../../db/store.fixture.ts'
import type { LedgerEvent } from '../../ledger/events.ts'
import { TestLedger, usageOf } from '../../ledger/ledger.fixture.ts'
import { dayEndOf, monthEndOf } from '../../ledger/periods.ts'
import { reopen } from '../../ledger/reopen.ts'
import type { Operation } from '../../ledger/transaction.ts'
import { PeriodReopening } from './period-reopening.ts'

const timezone = 'UTC'
const dayMs = 86_400_000
const present = Date.parse('2026-11-21T12:00:00Z')
const periodsAt = (at: number) => ({ at, dayEnd: dayEndOf(timezone, at), monthEnd: monthEndOf(timezone, at) })
const holdAt = (at: number) => ({ account: 'one', key: 'key', model: 'm', ...periodsAt(at) })

describe('PeriodReopening', () => {
  test('rows that cannot be read – are logged once, keep the owner pending, and are read later', async (t) => {
    const { db, commit } = await openAnyStore(t)
    const row = { account_id: 'one', key_id: 'key', cost_nanos: 30n, at: present } as const
    const requests = [
      createRequestRow('spent', row),
      createRequestRow('later', { ...row, at: present + dayMs }),
    ]
    const nothing = { journal: '', entries: [], owners: [], storedResponses: [] }
    await commit({ seq: 1, at: present, requests, ...nothing })
    const ledger = new TestLedger()
    ledger.credit(1000n)
    ledger.hold('ahead', { ...periodsAt(present + 40 * dayMs), requestedTokens: 10, mode: 'non-streaming' })
    ledger.settle('ahead', usageOf(0, 10))
    let canRead = false
    const errors: string[] = []
    const events: LedgerEvent[] = []
    const decided = {
      state: ledger.state,
      newest: 0,
      whenDurable: () => Promise.resolve(),
      decide(operation: Operation) {
        if (operation.kind === 'reopen') events.push(reopen(ledger.state, operation.reopening))
      },
    }
    const deps = {
      db: {
        write: (...statements: Parameters<typeof db.write>) => db.write(...statements),
        report: <Row>(query: Parameters<typeof db.report<Row>>[0]) =>
          canRead ? db.report<Row>(query) : Promise.reject(new Error('no rows')),
      },
      leftPeriods: [],
      onReopeningFailed: (why: string) => errors.push(why),
    }
    const reopening = new PeriodReopening(decided, deps)
    for (let count = 0; count < 3; count += 1) {
      assert.equal(reopening.isPending(holdAt(present), timezone), true)
      await reopening.close()
    }
    assert.deepEqual([errors, events], [['no rows'], []])
    canRead = true
    assert.equal(reopening.isPending(holdAt(present), timezone), true)
    await reopening.close()
    assert.equal(reopening.isPending(holdAt(present), timezone), false)
    const { dayEnd, monthEnd } = periodsAt(present)
    const spent = { daySpent: 30n, dayRequests: 1, monthSpent: 60n }
    assert.partialDeepStrictEqual(ledger.account(), { dayEnd, monthEnd, ...spent })
    assert.deepEqual([errors.length, events.length], [1, 2])

    const tomorrow = periodsAt(present + dayMs)
    const left = await loadLeftPeriods(db)
    assert.ok(left.includes(tomorrow.dayEnd), 'a later day with requests')
    const restarted = new PeriodReopening(decided, { ...deps, leftPeriods: left })
    assert.equal(restarted.isPending(holdAt(tomorrow.at), timezone), true)
    await restarted.close()
    assert.equal(ledger.account().daySpent, 30n)
    assert.equal(
      restarted.isPending(holdAt(tomorrow.at + 5 * dayMs), timezone),
      false,
      'a day without requests',
    )
  })
})
