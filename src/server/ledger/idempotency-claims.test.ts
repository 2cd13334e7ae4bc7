import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredResponseRow } from '../../db/ledger-commit.ts'
import { emptyState, type Hold } from '../../ledger/state.ts'
import { openHold } from '../../ledger/apply.ts'
import { IdempotencyClaims, type IdempotencyClaimsDeps } from './idempotency-claims.ts'

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

/** Claims over a queue with a manual commit number and a manual clock. */
function openClaims(newest = 0): {
  claims: IdempotencyClaims
  time: { commit: number; ms: number }
  deps: IdempotencyClaimsDeps
} {
  const time = { commit: newest, ms: 0 }
  const commits = {
    get newest() {
      return time.commit
    },
    addStoredResponse: (_row: StoredResponseRow) => time.commit,
  }
  const deps = { state: emptyState(), commits, monotonicNow: () => time.ms }
  return { claims: new IdempotencyClaims(deps), time, deps }
}

describe('IdempotencyClaims', () => {
  test('key of an open hold – conflicts with the same body, and counts as reused with another', () => {
    const { claims, deps } = openClaims()
    openHold(deps.state, { kind: 'held', ...hold('req_1') })
    assert.equal(claims.check('acc', { ...claim, seenCommit: 0 })?.code, 'idempotency_conflict')
    assert.equal(
      claims.check('acc', { ...claim, body: 'other', seenCommit: 0 })?.code,
      'idempotency_key_reused',
    )
    assert.equal(claims.check('another', { ...claim, seenCommit: 0 }), null)
  })

  test('reader that has not seen the commit of an ended claim – is sent to look again', () => {
    const { claims, time } = openClaims()
    time.commit = 7
    claims.recordEnded(hold('req_1'), claim, 1n, null)
    assert.equal(claims.check('acc', { ...claim, seenCommit: 6 })?.retryAfterCommit, 7)
    assert.equal(claims.check('acc', { ...claim, seenCommit: 7 }), null)
  })

  test('slow reader – never misses a claim that was forgotten', () => {
    const { claims, time } = openClaims()
    time.commit = 7
    claims.recordEnded(hold('req_1'), claim, 1n, null)
    for (let turn = 1; turn <= 3; turn += 1) {
      time.ms = turn * 61_000
      time.commit = 7 + turn
      claims.recordEnded(
        hold(`req_${turn + 1}`, `other-${turn}`),
        { ...claim, key: `other-${turn}` },
        1n,
        null,
      )
    }
    assert.ok((claims.check('acc', { ...claim, seenCommit: 6 })?.retryAfterCommit ?? 0) >= 7)
    assert.equal(claims.check('acc', { ...claim, seenCommit: 9 }), null)
  })

  test('start of the process – sends readers to the disk for all earlier commits', () => {
    const { claims } = openClaims(40)
    assert.equal(claims.check('acc', { ...claim, seenCommit: 0 })?.retryAfterCommit, 40)
    assert.equal(claims.check('acc', { ...claim, seenCommit: 40 }), null)
  })
})
