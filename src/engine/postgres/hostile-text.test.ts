// @suite all – starts PostgreSQL
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../db/postgres/postgres.fixture.ts'
import { sql } from '../../db/schema/schema.ts'
import { hostileTexts } from '../../ledger/hostile-text.fixture.ts'
import { toValidText } from '../../lib/valid-text.ts'
import { enterCredit, openLedger, verifyDatabase } from './shared-ledger.fixture.ts'

describe('hostile text in a ledger on PostgreSQL', () => {
  test(
    'id and reason of credits – are the same in journal and entries; known ids stay known',
    { skip: postgresSkipReason },
    async (t) => {
      const node = await openLedger(t, () => 'pass')
      for (const text of hostileTexts) {
        const credit = { id: `credit:${text}`, reason: text, amount: 1n }
        assert.equal((await enterCredit(node, credit)).kind, 'entered')
        assert.equal((await enterCredit(node, credit)).kind, 'known')
      }
      assert.deepEqual((await verifyDatabase(node.url)).findings, [])
      const query = sql.selectFrom('entries').select(['ref', 'reason']).orderBy('id')
      assert.deepEqual(
        (await node.db.all(query)).map(({ ref, reason }) => [ref, reason]),
        hostileTexts.map(toValidText).map((text) => [`credit:${text}`, text]),
      )
    },
  )
})
