import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallerExchange } from './exchange.ts'
import { play, recordedWhole, Recording, unknownCharge, withCharge } from './recording.ts'
import { decimalOf } from '../lib/money.ts'

const MiB = 1024 * 1024
const rates = ['x-ratelimit-remaining-requests', '3']
const lastWords = [
  Buffer.from(`data: {"cost":${decimalOf(unknownCharge)}}\n\n`),
  Buffer.from('data: [DONE]\n\n'),
]

interface Played {
  headers: readonly string[]
  text: string
}

function played(kept: Uint8Array | null, cost: bigint): Played {
  const told: Played = { headers: [], text: '' }
  const exchange: CallerExchange = {
    isGone: false,
    isBegun: false,
    onGone: null,
    onDrain: null,
    answer(_status, headers, body) {
      told.headers = headers
      told.text += String(body)
    },
    begin(_status, headers) {
      told.headers = headers
    },
    write(bytes) {
      told.text += String(bytes)
      return true
    },
    end: () => undefined,
    destroy: () => undefined,
  }
  assert.ok(kept)
  play(Buffer.from(kept), cost, exchange, ['idempotent-replayed', 'true'])
  return told
}

test('a stream is played as it was, with the price in its gap, and without what was left of the rates', () => {
  const recording = new Recording()
  recording.add(Buffer.from('data: one\n\n'), 1)
  recording.add(Buffer.from('data: two\n\n'), 2)
  const { headers, text } = played(
    recording.end(Infinity, lastWords, ['x-sluice-model', 'm', ...rates]),
    14_000n,
  )
  assert.equal(text, 'data: one\n\ndata: two\n\ndata: {"cost":0.000014}\n\ndata: [DONE]\n\n')
  assert.equal(String(withCharge(lastWords, 14_000n)), text.slice(text.indexOf('data: {')))
  assert.ok(headers.includes('x-sluice-model') && headers.includes('idempotent-replayed'))
  assert.ok(!headers.some((header) => header.startsWith('x-ratelimit')))
})

test('what was not paid for is not kept', () => {
  const recording = new Recording()
  recording.add(Buffer.from('data: one\n\n'), 10)
  recording.add(Buffer.from('data: two\n\n'), 20)
  assert.equal(recording.within(19), 10)
  assert.equal(played(recording.end(19, [], []), 1n).text, 'data: one\n\n')
})

test('a whole answer of 1 MiB is kept, a byte more is not; streams count with their last words', () => {
  assert.equal(played(recordedWhole(Buffer.alloc(MiB, 'x'), rates), 5n).text.length, MiB)
  assert.ok(played(recordedWhole(Buffer.from('{}'), rates), 5n).headers.includes('0.000000005'))
  assert.equal(recordedWhole(Buffer.alloc(MiB + 1), []), null)
  for (const [bytes, isKept] of [
    [MiB - 1, true],
    [MiB, false],
  ] as const) {
    const recording = new Recording()
    recording.add(Buffer.alloc(bytes, 'x'), 1)
    assert.equal(recording.end(Infinity, [Buffer.from('!')], []) !== null, isKept)
  }
})
