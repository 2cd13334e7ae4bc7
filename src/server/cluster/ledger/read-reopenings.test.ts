import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { postgresSkipReason as skip } from '../../../db/postgres/postgres.fixture.ts'
import { noCaps, streamHold } from '../../../ledger/ledger.fixture.ts'
import { dayEndOf, monthEndOf } from '../../../ledger/periods.ts'
import type { QueuedHold } from './queued-operations.ts'
import { credit, openLedger, settle, verifyDatabase, type TestLedger } from './shared-ledger.fixture.ts'

const timezone = 'UTC'
const dayMs = 86_400_000
const present = Date.parse('2026-11-21T12:00:00Z')

function holdAt({ ledger }: TestLedger, id: string, at: number): Promise<Parameters<QueuedHold['reply']>[0]> {
  const who = { id, at, account: 'one', key: 'key', model: 'm' }
  const periods = { dayEnd: dayEndOf(timezone, at), monthEnd: monthEndOf(timezone, at) }
  const size = { modelTokens: 60, requestedTokens: 60, mode: 'non-streaming' } as const
  const caps = { ...noCaps, accountDay: 100n, keyMonth: 1000n }
  const operation = { ...streamHold, ...size, ...who, ...periods, caps }
  return new Promise((reply) =>
    ledger.enqueue({ kind: 'hold', hold: operation, timezone, reply, isAbandoned: false }),
  )
}

describe('a cluster after a clock that was ahead', () => {
  test('daily cap – is measured in the present day, with what was spent in it', { skip }, async (t) => {
    const node = await openLedger(t, () => 'pass')
    await credit(node, 1_000_000n)
    await holdAt(node, 'before', present)
    await settle(node, 'before', 60)
    await holdAt(node, 'ahead', present + 40 * dayMs)
    await settle(node, 'ahead', 60)
    const granted = await holdAt(node, 'after', present + 1)
    assert.ok(granted !== null && 'event' in granted)
    assert.equal(granted.maximumTokens, 40)
    await settle(node, 'after', 40)
    const denied = await holdAt(node, 'over', present + 2)
    const resumesAt = dayEndOf(timezone, present)
    assert.deepEqual(denied, { kind: 'cap', cap: 'accountDay', resumesAt })
    const owners = await node.db.all<{ id: string }>({
      sql: 'select id, day_spent_nanos, day_requests, month_spent_nanos from owners order by id',
      parameters: [],
    })
    const spent = { day_spent_nanos: 100n, day_requests: 2, month_spent_nanos: 100n }
    assert.deepEqual(owners, [
      { id: 'a:one', ...spent },
      { id: 'k:key', ...spent },
    ])
    assert.equal((await verifyDatabase(node.url)).ok, true)
  })
})
