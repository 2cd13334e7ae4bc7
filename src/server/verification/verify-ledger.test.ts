import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { chainHash, chainGenesis } from '../../db/journal.ts'
import { copyLedger, openServedLedger, tamper, verifyFile, startMonitor } from './served-ledger.fixture.ts'
import { verifyFast } from './fast-verify.ts'
import { verifyInThread } from './verify-thread.ts'

describe('verifyLedger', () => {
  test('unchanged ledger – is consistent: all entries counted, no drift, nothing held', async (t) => {
    const path = await copyLedger(t)
    const report = await verifyInThread(path)
    assert.deepEqual(await verifyFast(path), report)
    assert.deepEqual(await verifyFile(path), report)
    assert.deepEqual(report, { ok: true, entries: 21, drift: 0n, openHolds: 0, overrun: 0n, findings: [] })
  })

  const tamperings: Record<string, { statements: string[]; finding: RegExp; drift?: bigint }> = {
    'a journal row changed': {
      statements: [`update journal set body = replace(body, '"10', '"11') where seq = 1`],
      finding: /journal is broken at commit 1/,
    },
    'a journal row removed': {
      statements: ['delete from journal where seq = 2'],
      finding: /journal is broken at commit 3/,
    },
    'the last journal row removed': {
      statements: ['delete from journal where seq = (select max(seq) from journal)'],
      finding: /belongs to no commit|differs from the journal/,
    },
    'a balance changed': {
      statements: [`update owners set balance_nanos = balance_nanos + 5 where id = 'a:acc'`],
      finding: /row of a:acc differs from the journal in balance/,
      drift: 5n,
    },
    'a key’s spent amount changed': {
      statements: [`update owners set total_spent_nanos = 0 where id = 'k:key'`],
      finding: /row of k:key differs from the journal in totalSpent/,
    },
    'a balance invented': {
      statements: [`insert into owners select 'a:thief', 7, 0, 0, 0, 0, 0, 0, 0`],
      finding: /a:thief/,
      drift: 7n,
    },
    'an entry changed': {
      statements: ['update entries set amount_nanos = amount_nanos - 3 where id = 5'],
      finding: /entry of req_4 in commit \d+ differs in amount/,
    },
    'an entry moved to another account': {
      statements: [`update entries set debit = 'account:other' where id = 6`],
      finding: /entry of req_5 in commit \d+ differs in debit/,
    },
    'an entry removed': {
      statements: ['delete from entries where id = 7'],
      finding: /lacks the entry|differs in/,
    },
    'an entry invented': {
      statements: [
        `insert into entries (seq, at, debit, credit, amount_nanos, kind) values (1, 0, 'operator:funding', 'account:acc', 9, 'credit')`,
      ],
      finding: /belongs to no commit/,
      drift: 9n,
    },
    'a request row made cheaper': {
      statements: [`update requests set cost_nanos = 1 where request_id = 'req_8'`],
      finding: /request req_8 was billed 18 nanos, its row has 1 \(cost\)/,
      drift: 17n,
    },
    'the costs of two request rows swapped': {
      statements: [
        `update requests set cost_nanos = case request_id when 'req_8' then 19 else 18 end where request_id in ('req_8', 'req_9')`,
      ],
      finding: /request req_8 was billed 18 nanos, its row has 19/,
      drift: 2n,
    },
    'a request row with other tokens': {
      statements: [`update requests set completion_tokens = 11 where request_id = 'req_8'`],
      finding: /request req_8 .*\(output\)/,
    },
    'a request row removed': {
      statements: [`delete from requests where request_id = 'req_8'`],
      finding: /request req_8 has no row for its 18 nanos/,
      drift: 18n,
    },
    'a request row made free': {
      statements: [`update requests set cost_nanos = 0 where request_id = 'req_8'`],
      finding: /request req_8 has no row/,
      drift: 18n,
    },
    'a cost added to a rejected request': {
      statements: [`update requests set cost_nanos = 4 where request_id = 'req_8_refused'`],
      finding: /request req_8_refused has a row of 4 nanos and no bill/,
      drift: 4n,
    },
  }

  for (const [name, { statements, finding, drift }] of Object.entries(tamperings)) {
    test(`tampering – verify finds ${name}`, async (t) => {
      const path = await copyLedger(t)
      tamper(path, ...statements)
      assert.equal(await verifyFast(path), null)
      const report = await verifyFile(path)
      assert.equal(report.ok, false)
      assert.match(report.findings.join('\n'), finding)
      if (drift !== undefined) assert.equal(report.drift, drift)
    })
  }

  test('rewritten journal with a valid chain – verify finds that it breaks the rules', async (t) => {
    const path = await copyLedger(t)
    const database = new DatabaseSync(path)
    database.exec('drop trigger journal_stays')
    let prev = chainGenesis
    for (const row of database.prepare('select seq, body from journal order by seq').all()) {
      const body = String(row['body']).replace('"s","req_3",3,"provider",3', '"s","req_3",3,"provider",2')
      const hash = chainHash(prev, body)
      database
        .prepare('update journal set body = ?, prev = ?, hash = ? where seq = ?')
        .run(body, prev, hash, row['seq'] ?? null)
      prev = hash
    }
    database.close()
    assert.equal(await verifyFast(path), null)
    const report = await verifyFile(path)
    assert.equal(report.ok, false)
    assert.match(report.findings[0] ?? '', /settlement of req_3 does not equal its cost/)
  })

  test('monitor – follows the growing journal, and finds tampering within one check', async (t) => {
    const { path, serve } = await openServedLedger(t)
    const until = await startMonitor(t, path)
    assert.equal((await until(() => true)).ok, true)
    await serve(30)
    const grown = await until(({ entries, ok }) => entries >= 30 || !ok)
    assert.deepEqual([grown.ok, grown.findings], [true, []])
    tamper(path, `update owners set balance_nanos = balance_nanos + 5 where id = 'a:acc'`)
    const found = await until(({ ok }) => !ok)
    assert.equal(found.drift, 5n)
  })

  for (const [name, statement] of Object.entries({
    balance: `update owners set balance_nanos = balance_nanos + 5 where id = 'a:acc'`,
    entry: 'update entries set amount_nanos = amount_nanos + 5 where id = 4',
    'request row': `update requests set cost_nanos = cost_nanos + 5 where request_id = 'req_8'`,
  })) {
    test(`monitor – finds a ${name} at once that was changed while nothing ran`, async (t) => {
      const path = await copyLedger(t)
      tamper(path, statement)
      const until = await startMonitor(t, path)
      const report = await until(() => true)
      assert.equal(report.ok, false)
      assert.ok(report.drift >= 5n)
    })
  }
})
