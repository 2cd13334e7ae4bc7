import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { openReadOnly } from '../db/sqlite/read-only.ts'
import { rewriteSqliteLedger } from '../db/sqlite/rewrite-ledger.ts'
import { writeInvalidText } from './invalid-text.fixture.ts'
import { findTextRepair, repairText, RepairRefusedError, type TextRepair } from './repair-text.ts'
import { copyLedger, tamper, verifyFile } from './verification/served-ledger.fixture.ts'

/** The only credit of the ledger has the id `first` and the reason `test`. */
const halfCharacter = 'thank you \ud83d'
const replaced = 'thank you \ufffd'

function repair(path: string): Promise<TextRepair> {
  return rewriteSqliteLedger(path, (rewriter) => repairText('sqlite', rewriter))
}

async function findRepair(path: string): Promise<TextRepair> {
  const reader = openReadOnly(path)
  try {
    return await findTextRepair('sqlite', reader.db)
  } finally {
    reader.close()
  }
}

/** All rows of the tables that prove the money. */
function readRows(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return ['journal', 'entries', 'owners', 'audit', 'sqlite_schema'].map((table) =>
      database.prepare(`select * from ${table} order by 1, 2`).all(),
    )
  } finally {
    database.close()
  }
}

describe('repairText', () => {
  test('half a character – verify fails until the journal has what the column holds', async (t) => {
    const path = await copyLedger(t)
    const consistent = await verifyFile(path)
    await writeInvalidText({ dataDir: dirname(path) }, { test: halfCharacter })
    assert.match((await verifyFile(path)).findings.join(), /entry of first in commit 1 differs in reason/)
    const before = readRows(path)
    const found = await findRepair(path)
    const change = { ref: 'first', field: 'reason', before: halfCharacter, after: replaced }
    assert.deepEqual(found.texts, [{ table: 'journal', commit: 1, ...change }])
    assert.equal(found.ledger, null)
    assert.deepEqual(readRows(path), before)
    const repaired = await repair(path)
    assert.deepEqual([repaired.texts, repaired.rehashed], [found.texts, found.rehashed])
    assert.deepEqual(repaired.ledger, consistent)
    assert.deepEqual(await verifyFile(path), consistent)
    assert.deepEqual((await repair(path)).texts, [])
  })

  test('U+0000 – is replaced in the journal and in the columns, which the triggers protect again', async (t) => {
    const path = await copyLedger(t)
    await writeInvalidText({ dataDir: dirname(path) }, { test: 'zero\0byte', first: 'first\0' })
    const { texts } = await repair(path)
    assert.deepEqual(
      texts.map(({ table, field, after }) => [table, field, after]),
      [
        ['journal', 'id', 'first\ufffd'],
        ['journal', 'reason', 'zero\ufffdbyte'],
        ['entries', 'ref', 'first\ufffd'],
        ['entries', 'reason', 'zero\ufffdbyte'],
      ],
    )
    assert.equal((await verifyFile(path)).ok, true)
    const database = new DatabaseSync(path)
    t.after(() => database.close())
    assert.throws(() => database.exec(`update entries set reason = 'other'`), /append-only/)
    assert.throws(() => database.exec(`update journal set at = 0`), /append-only/)
    assert.equal(database.prepare(`select action from audit`).get()?.['action'], 'ledger.repair')
  })

  const inconsistencies: Record<string, [statement: string, finding: RegExp]> = {
    'an amount that differs': [
      `update entries set amount_nanos = amount_nanos + 1 where ref = 'first'`,
      /entry of first in commit 1 differs in amount/,
    ],
    'a missing entry': [`delete from entries where ref = 'first'`, /commit 1 has 0 credits/],
    'another reason in the column': [
      `update entries set reason = 'other' where ref = 'first'`,
      /entry of first in commit 1 differs in reason/,
    ],
    'another balance': [
      `update owners set balance_nanos = balance_nanos + 1 where id = 'a:acc'`,
      /row of a:acc differs/,
    ],
    'another charge': [`update requests set cost_nanos = 1 where request_id = 'req_8'`, /request req_8/],
    'a broken chain': [`update journal set body = replace(body, 'req_3', 'req_x')`, /broken at commit/],
  }
  for (const [name, [statement, finding]] of Object.entries(inconsistencies)) {
    test(`${name} – is not hidden: the repair is refused and changes nothing`, async (t) => {
      const path = await copyLedger(t)
      await writeInvalidText({ dataDir: dirname(path) }, { test: halfCharacter })
      tamper(path, statement)
      // The repair needs the triggers that tampering drops.
      const database = new DatabaseSync(path)
      for (const [table, trigger] of [
        ['journal', 'journal_stays'],
        ['entries', 'entries_stay'],
      ] as const)
        database.exec(
          `create trigger ${trigger} before update on ${table} begin select raise(abort, ''); end`,
        )
      database.close()
      const before = readRows(path)
      await assert.rejects(repair(path), (error) => {
        assert.ok(error instanceof RepairRefusedError)
        assert.match(error.message, finding)
        return true
      })
      assert.deepEqual(readRows(path), before)
    })
  }
})
