import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noCaps, stream } from '../../ledger/ledger.fixture.ts'
import type { Claim } from '../../ledger/events.ts'
import type { Hold } from '../../ledger/state.ts'
import { joinBatch, needsOf } from './batch-needs.ts'
import type { Work } from './work.ts'

const at = 1000
const answer = (): undefined => undefined

function hold(id: string, account: string, claim?: Claim): Work {
  const who = { id, at, account, key: `${account}-key`, model: 'm', claim }
  const operation = { ...stream, ...who, modelTokens: 100, caps: noCaps, dayEnd: 2000, monthEnd: 2000 }
  return { kind: 'hold', operation, answer, isGivenUp: false }
}

function end(id: string): Work {
  return { kind: 'expire', id, at, caps: noCaps, owners: null, upstream: null, isRetired: false, answer }
}

test('what waits joins a batch where it touches no other rows, and all else goes on waiting in its order', () => {
  const who = { id: 'open', at, account: 'one', key: 'one-key', model: 'm', dayEnd: 2000, monthEnd: 2000 }
  const { price, factorPpm, inputTokens } = stream
  const open: Hold = { ...who, price, factorPpm, inputTokens, amount: 1n, outputTokens: 1, mark: null }
  const own = { holds: new Map([['open', open]]), marks: new Map(), former: new Map() }
  const works = [hold('first', 'one')]
  const waiting = [
    hold('second', 'one'),
    hold('other', 'two'),
    hold('claimed', 'one', { key: 'k', body: 'b' }),
    end('open'),
    end('unknown'),
  ]
  const { owners } = needsOf(works, own)
  const others = joinBatch(works, waiting, { most: 10, owners, own })
  assert.deepEqual(works.slice(1), [waiting[0], waiting[3]])
  assert.deepEqual(others, [waiting[1], waiting[2], waiting[4]])
  const few = [hold('first', 'one')]
  assert.deepEqual(joinBatch(few, waiting, { most: 2, owners, own }), waiting.slice(1))
})
