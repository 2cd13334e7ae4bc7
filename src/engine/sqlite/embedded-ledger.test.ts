import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTemporaryStore, createLedgerCommit } from '../../db/store.fixture.ts'
import { TestLedger } from '../../ledger/ledger.fixture.ts'
import { books } from '../../ledger/entries.ts'
import type { LedgerCommit } from '../../db/ledger-commit.ts'
import { noopCoreListener } from '../core.ts'
import type { Store } from '../../db/sqlite/store.ts'
import { EmbeddedLedger } from './embedded-ledger.ts'

function openLedger({ db }: Store, { state }: TestLedger, commits: LedgerCommit[] = []): EmbeddedLedger {
  return new EmbeddedLedger(
    { state, lastCommit: 1 },
    {
      sink: { commit: async (commit) => void commits.push(commit) },
      listener: noopCoreListener,
      now: () => 1,
      monotonicNow: () => 0,
      db,
      leftPeriods: [],
      onReopeningFailed: () => undefined,
    },
  )
}

describe('EmbeddedLedger', () => {
  test('accounts with open holds – have their balance less all that is held', async (t) => {
    const memory = new TestLedger()
    for (const account of ['one', 'two']) memory.credit(1_000_000n, account, account)
    for (const id of ['first', 'second']) memory.hold(id)
    const { balance, held } = memory.account()
    assert.ok(held > 0n)
    const available = await openLedger(await openTemporaryStore(t), memory).availableUnderHolds()
    assert.deepEqual([...available], [['one', balance - held]])
  })

  for (const [name, id, stored] of [
    ['U+0000', 'zero\0byte', 'zero\0byte'],
    ['U+0000 after a repair', 'zero\0byte', 'zero\ufffdbyte'],
    ['half a character', 'half \ud83d', 'half \ufffd'],
  ] as const) {
    test(`credit of an earlier process with ${name} in its id – is not entered again`, async (t) => {
      const store = await openTemporaryStore(t)
      const template = createLedgerCommit(1)
      const entry = { debit: books.funding, ref: stored, amount_nanos: 5n } as const
      await store.commit({ ...template, entries: template.entries.map((each) => ({ ...each, ...entry })) })
      const commits: LedgerCommit[] = []
      const ledger = openLedger(store, new TestLedger(), commits)
      const credit = { id, at: 1, account: 'one', amount: 5n, source: 'refund', reason: 'x' } as const
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const result = await ledger.enterCredit({ kind: 'credit', credit })
        assert.equal(result?.kind, 'known')
      }
      await ledger.drain()
      assert.deepEqual(commits, [])
    })
  }
})
