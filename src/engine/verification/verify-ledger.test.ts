import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chainHash, chainGenesis } from '../../db/journal.ts'
import {
  copyLedger,
  openServedLedger,
  startMonitor,
  stores,
  tamper,
  verifyFile,
} from './served-ledger.fixture.ts'
import { verifyInThread } from './verify-thread.ts'

const consistent = { ok: true, entries: 21, drift: 0n, openHolds: 0, overrun: 0n, findings: [] }

interface Tampering {
  readonly statement: string
  readonly finding: RegExp
  readonly drift?: bigint
}

const tamperings: Record<string, Tampering> = {
  'a journal row changed': {
    statement: `update journal set body = replace(body, '"10', '"11') where seq = 1`,
    finding: /broken at (its )?commit 1:/,
  },
  'a journal row removed': {
    statement: 'delete from journal where seq = 2',
    finding: /broken at (its )?commit 3:/,
  },
  'the last journal row removed': {
    statement: 'delete from journal where seq = (select max(seq) from journal)',
    finding: /there are 21 entries of \d+ nanos, but the journal has \d+/,
  },
  'a balance changed': {
    statement: `update owners set balance_nanos = balance_nanos + 5 where id = 'a:acc'`,
    finding: /row of a:acc differs from the journal in balance/,
    drift: 5n,
  },
  'a key’s spent amount changed': {
    statement: `update owners set total_spent_nanos = 0 where id = 'k:key'`,
    finding: /row of k:key differs from the journal in total_spent_nanos/,
  },
  'a balance invented': {
    statement: `insert into owners (id, balance_nanos, day_end, day_spent_nanos, day_requests, month_end, month_spent_nanos,
      total_spent_nanos, flags) values ('a:thief', 7, 0, 0, 0, 0, 0, 0, 0)`,
    finding: /a:thief/,
    drift: 7n,
  },
  'an entry changed': {
    statement: 'update entries set amount_nanos = amount_nanos - 3 where id = 5',
    finding: /entry of req_4 in commit \d+ differs in amount/,
  },
  'an entry moved to another account': {
    statement: `update entries set debit = 'account:other' where id = 6`,
    finding: /entry of req_5 in commit \d+ differs in debit/,
  },
  'an entry removed': {
    statement: 'delete from entries where id = 7',
    finding: /lacks the entry|differs in/,
  },
  'an entry invented': {
    statement: `insert into entries (seq, at, debit, credit, amount_nanos, kind) values (1, 0, 'operator:funding', 'account:acc', 9, 'credit')`,
    finding: /commit 1 has an entry of  that the journal does not give/,
    drift: 9n,
  },
  'an entry with a number far from all others': {
    statement: `insert into entries (id, seq, at, debit, credit, amount_nanos, kind) values (9000000000000000, 99, 0, 'x', 'y', 9, 'credit')`,
    finding: /there are 22 entries of \d+ nanos, but the journal has 21/,
  },
  'an entry with a number before all others': {
    statement: `insert into entries (id, seq, at, debit, credit, amount_nanos, kind) values (-7, 0, 0, 'x', 'y', 9, 'credit')`,
    finding: /an entry of  belongs to no commit|there are 22 entries of \d+ nanos, but the journal has 21/,
  },
  'a credit, its entry and the balance that follows from it': {
    statement: `update entries set amount_nanos = amount_nanos + 5 where ref = 'first';
      update owners set balance_nanos = balance_nanos + 5 where id = 'a:acc'`,
    finding: /entry of first in commit 1 differs in amount/,
  },
  'a deleted account row': {
    statement: `delete from owners where id = 'a:acc'`,
    finding: /row of a:acc differs from the journal in everything: it has no row/,
  },
  'rows recorded as deleted that never existed': {
    statement: `insert into dropped_bills values ('acc', 1, 5)`,
    finding: /request rows, with deleted ones, have 21 bills of 415 nanos, but the journal has 20 of 410/,
    drift: 5n,
  },
  'a hash': {
    statement: `update journal set hash = prev where seq = 3`,
    finding: /broken at (its )?commit 3:/,
  },
  'the hash before': {
    statement: `update journal set prev = hash where seq = 3`,
    finding: /broken at (its )?commit 3:/,
  },
  'a request row made cheaper': {
    statement: `update requests set cost_nanos = 1 where request_id = 'req_8'`,
    finding: /request req_8 was billed 18 nanos, its row has 1 \(cost\)/,
    drift: 17n,
  },
  'the costs of two request rows swapped': {
    statement: `update requests set cost_nanos = case request_id when 'req_8' then 19 else 18 end where request_id in ('req_8', 'req_9')`,
    finding: /request req_8 was billed 18 nanos, its row has 19/,
    drift: 2n,
  },
  'a request row with other tokens': {
    statement: `update requests set completion_tokens = 11 where request_id = 'req_8'`,
    finding: /request req_8 .*\(output\)/,
  },
  'a request row removed': {
    statement: `delete from requests where request_id = 'req_8'`,
    finding: /request req_8 has no row for its 18 nanos/,
    drift: 18n,
  },
  'a request row made free': {
    statement: `update requests set cost_nanos = 0 where request_id = 'req_8'`,
    finding: /request req_8 was billed 18 nanos, its row has 0/,
    drift: 18n,
  },
  'a cost added to a rejected request': {
    statement: `update requests set cost_nanos = 4 where request_id = 'req_8_refused'`,
    finding: /have 21 bills of 414 nanos, but the journal has 20 of 410/,
    drift: 4n,
  },
}

for (const { store, skip, open } of stores) {
  describe(`verifyLedger on ${store}`, () => {
    test(
      'unchanged ledger – is consistent: all entries counted, no drift, nothing held',
      { skip },
      async (t) => {
        const { verify } = await open(t)
        assert.deepEqual(await verify(), consistent)
      },
    )

    for (const [name, { statement, finding, drift }] of Object.entries(tamperings)) {
      test(`tampering – verify finds ${name}`, { skip }, async (t) => {
        const ledger = await open(t)
        await ledger.tamper(statement)
        const report = await ledger.verify()
        assert.equal(report.ok, false)
        assert.match(report.findings.join('\n'), finding)
        if (drift !== undefined) assert.equal(report.drift, drift)
      })
    }

    test(
      'rewritten journal with a valid chain – verify finds that it breaks the rules',
      { skip },
      async (t) => {
        const { readBodies, bytes, tamper, verify } = await open(t)
        let prev = chainGenesis
        for (const { seq, body: before } of await readBodies()) {
          const body = before.replace('"s","req_3",3,"provider",3', '"s","req_3",3,"provider",2')
          const hash = chainHash(prev, body)
          const changed = `body = '${body}', prev = ${bytes(prev)}, hash = ${bytes(hash)}`
          await tamper(`update journal set ${changed} where seq = ${seq}`)
          prev = hash
        }
        const report = await verify()
        assert.equal(report.ok, false)
        assert.match(report.findings[0] ?? '', /settlement of req_3 does not equal its cost/)
      },
    )
  })
}

describe('verification in a thread', () => {
  test('ledger – has the same report as on one thread, before and after tampering', async (t) => {
    const path = await copyLedger(t)
    assert.deepEqual(await verifyInThread(path), consistent)
    tamper(path, `update requests set cost_nanos = 1 where request_id = 'req_8'`)
    assert.deepEqual(await verifyInThread(path), await verifyFile(path))
    tamper(path, `update journal set body = replace(body, 'req_9', 'req_x')`)
    const { findings } = await verifyInThread(path)
    assert.match(findings[0] ?? '', /journal is broken at commit/)
    assert.deepEqual(findings, (await verifyFile(path)).findings)
  })

  test('missing file – is an error, not a report', async () => {
    await assert.rejects(verifyInThread('/nowhere/sluice.db'), /Cannot open \/nowhere\/sluice.db/)
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
    test(`monitor – finds a ${name} that was changed while nothing ran`, async (t) => {
      const path = await copyLedger(t)
      tamper(path, statement)
      const until = await startMonitor(t, path)
      const report = await until(({ ok }) => !ok)
      assert.ok(report.drift >= 5n)
    })
  }
})
