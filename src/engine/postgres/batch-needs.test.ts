import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { noCaps, streamHold } from '../../ledger/ledger.fixture.ts'
import type { IdempotencyClaim } from '../../ledger/events.ts'
import type { Hold } from '../../ledger/state.ts'
import { joinBatch, batchNeeds } from './batch-needs.ts'
import { queued, type QueuedOperation } from './queued-operations.ts'

const at = 1000
const reply = (): undefined => undefined

function hold(id: string, account: string, claim?: IdempotencyClaim): QueuedOperation {
  const who = { id, at, account, key: `${account}-key`, model: 'm', claim }
  const operation = { ...streamHold, ...who, modelTokens: 100, caps: noCaps, dayEnd: 2000, monthEnd: 2000 }
  return queued({ kind: 'hold', hold: operation, timezone: 'UTC' }, reply)
}

function end(id: string): QueuedOperation {
  return queued({ kind: 'expire', id, at, caps: noCaps, upstream: null }, reply)
}

describe('joinBatch', () => {
  test('waiting operation – joins if it touches no other rows; the rest keep their order', () => {
    const who = { id: 'open', at, account: 'one', key: 'one-key', model: 'm', dayEnd: 2000, monthEnd: 2000 }
    const { price, factorPpm, inputTokens } = streamHold
    const open: Hold = { ...who, price, factorPpm, inputTokens, amount: 1n, outputTokens: 1, mark: null }
    const nodeHolds = { holds: new Map([['open', open]]), marks: new Map(), formerHolds: new Map() }
    const operations = [hold('first', 'one')]
    const waiting = [
      hold('second', 'one'),
      hold('other', 'two'),
      hold('claimed', 'one', { key: 'k', body: 'b' }),
      end('open'),
      end('unknown'),
    ]
    const { owners } = batchNeeds(operations, nodeHolds)
    const others = joinBatch(operations, waiting, { maxOperations: 10, owners, nodeHolds })
    assert.deepEqual(operations.slice(1), [waiting[0], waiting[3]])
    assert.deepEqual(others, [waiting[1], waiting[2], waiting[4]])
    const few = [hold('first', 'one')]
    assert.deepEqual(joinBatch(few, waiting, { maxOperations: 2, owners, nodeHolds }), waiting.slice(1))
  })
})
