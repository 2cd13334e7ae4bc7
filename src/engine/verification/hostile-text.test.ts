import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hostileTexts } from '../../ledger/hostile-text.fixture.ts'
import { openReadOnly } from '../../db/sqlite/read-only.ts'
import { sql } from '../../db/schema/schema.ts'
import { toValidText } from '../../lib/valid-text.ts'
import { openServedLedger, verifyFile } from './served-ledger.fixture.ts'

describe('hostile text in a ledger on SQLite', () => {
  test('id and reason of credits – are the same in journal and entries, and verify', async (t) => {
    const { path, credit } = await openServedLedger(t)
    for (const text of hostileTexts) await credit({ id: `credit:${text}`, reason: text })
    const report = await verifyFile(path)
    assert.deepEqual(report.findings, [])
    const reader = openReadOnly(path)
    t.after(() => reader.close())
    const query = sql.selectFrom('entries').select(['ref', 'reason']).where('ref', 'like', 'credit:%')
    assert.deepEqual(
      (await reader.db.all(query.orderBy('id'))).map(({ ref, reason }) => [ref, reason]),
      hostileTexts.map(toValidText).map((text) => [`credit:${text}`, text]),
    )
  })
})
