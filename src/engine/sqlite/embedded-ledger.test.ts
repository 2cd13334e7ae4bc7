import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openTemporaryStore, createLedgerCommit } from '../../db/store.fixture.ts'
import { TestLedger } from '../../ledger/ledger.fixture.ts'
import { books } from '../../ledger/entries.ts'
import type { LedgerCommit } from '../../db/ledger-commit.ts'
import { noopCoreListener } from '../core.ts'
import { EmbeddedLedger } from './embedded-ledger.ts'

describe('EmbeddedLedger', () => {
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
      const { state } = new TestLedger()
      const commits: LedgerCommit[] = []
      const ledger = new EmbeddedLedger(
        { state, lastCommit: 1 },
        {
          sink: { commit: async (commit) => void commits.push(commit) },
          listener: noopCoreListener,
          now: () => 1,
          monotonicNow: () => 0,
          db: store.db,
          leftPeriods: [],
          onReopeningFailed: () => undefined,
        },
      )
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
