import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KeptRow } from '../db/messages.ts'
import { emptyState, type Hold } from '../ledger/state.ts'
import { openHold } from '../ledger/apply.ts'
import { Claims, type ClaimParts } from './claims.ts'

const claim = { key: 'key', body: 'body' }

function hold(id: string, key = claim.key): Hold {
  const price = {
    version: 1,
    input: 0n,
    output: 0n,
    cachedInput: null,
    cacheWrite: null,
    reasoning: null,
    perRequest: 0n,
  }
  const about = {
    id,
    at: 0,
    account: 'acc',
    key: 'key_1',
    model: 'm',
    amount: 0n,
    price,
    factorPpm: 1_000_000,
  }
  const counts = { inputTokens: 0, outputTokens: 0, dayEnd: 0, monthEnd: 0 }
  return { ...about, ...counts, mark: null, claim: { ...claim, key } }
}

/** Claims over a queue whose commits are numbered by hand, and a clock that is set. */
function scene(newest = 0): { claims: Claims; time: { commit: number; ms: number }; parts: ClaimParts } {
  const time = { commit: newest, ms: 0 }
  const commits = {
    get newest() {
      return time.commit
    },
    addKept: (_row: KeptRow) => time.commit,
  }
  const parts = { state: emptyState(), commits, steady: () => time.ms }
  return { claims: new Claims(parts), time, parts }
}

test('a key whose hold is open is running for the same body, and reused for another', () => {
  const { claims, parts } = scene()
  openHold(parts.state, { kind: 'held', ...hold('req_1') })
  assert.equal(claims.denial('acc', { ...claim, seen: 0 })?.code, 'idempotency_conflict')
  assert.equal(claims.denial('acc', { ...claim, body: 'other', seen: 0 })?.code, 'idempotency_key_reused')
  assert.equal(claims.denial('another', { ...claim, seen: 0 }), null)
})

test('who has not seen the commit that wrote a result looks again, and then has its key if nothing was there', () => {
  const { claims, time } = scene()
  time.commit = 7
  claims.keep(hold('req_1'), claim, 1n, null)
  assert.equal(claims.denial('acc', { ...claim, seen: 6 })?.lookAgain, 7)
  assert.equal(claims.denial('acc', { ...claim, seen: 7 }), null)
})

test('however long an asker took, a result that was forgotten is never missed', () => {
  const { claims, time } = scene()
  time.commit = 7
  claims.keep(hold('req_1'), claim, 1n, null)
  for (let turn = 1; turn <= 3; turn += 1) {
    time.ms = turn * 61_000
    time.commit = 7 + turn
    claims.keep(hold(`req_${turn + 1}`, `other-${turn}`), { ...claim, key: `other-${turn}` }, 1n, null)
  }
  assert.ok((claims.denial('acc', { ...claim, seen: 6 })?.lookAgain ?? 0) >= 7)
  assert.equal(claims.denial('acc', { ...claim, seen: 9 }), null)
})

test('after a start everything before it is to be looked for on the disk', () => {
  const { claims } = scene(40)
  assert.equal(claims.denial('acc', { ...claim, seen: 0 })?.lookAgain, 40)
  assert.equal(claims.denial('acc', { ...claim, seen: 40 }), null)
})
