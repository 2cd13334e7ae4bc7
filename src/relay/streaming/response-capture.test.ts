import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CallerFormat } from '../request/caller-format.ts'
import { messagesFormat } from '../request/messages-request.ts'
import type { ResponseWriter } from '../response-writer.ts'
import { openAIFormat } from './chat-stream-encoder.ts'
import {
  replay,
  captureBuffered,
  ResponseCapture,
  placeholderCharge,
  withCharge,
} from './response-capture.ts'
import { formatAmount } from '../../lib/money.ts'

const MiB = 1024 * 1024
const rates = ['x-ratelimit-remaining-requests', '3']
const finalEvents = [
  Buffer.from(`data: {"cost":${formatAmount(placeholderCharge)}}\n\n`),
  Buffer.from('data: [DONE]\n\n'),
]

interface ReplayedResponse {
  headers: readonly string[]
  text: string
  isCut: boolean
}

function replayStored(
  stored: Uint8Array | null,
  cost: bigint,
  format: CallerFormat = openAIFormat,
): ReplayedResponse {
  const replayed: ReplayedResponse = { headers: [], text: '', isCut: false }
  const writer: ResponseWriter = {
    isDisconnected: false,
    isStarted: false,
    onDisconnect: null,
    onDrain: null,
    send(_status, headers, body) {
      replayed.headers = headers
      replayed.text += String(body)
    },
    start(_status, headers) {
      replayed.headers = headers
    },
    write(bytes) {
      replayed.text += String(bytes)
      return true
    },
    end: () => undefined,
    abort() {
      replayed.isCut = true
    },
    destroy: () => undefined,
  }
  assert.ok(stored)
  replay(Buffer.from(stored), cost, writer, format)
  return replayed
}

describe('response capture', () => {
  test('replay – sends a stream unchanged, with its charge and without rate limit headers', () => {
    const capture = new ResponseCapture()
    capture.add(Buffer.from('data: one\n\n'), 1)
    capture.add(Buffer.from('data: two\n\n'), 2)
    const { headers, text } = replayStored(
      capture.finish(Infinity, finalEvents, ['x-sluice-model', 'm', ...rates]),
      14_000n,
    )
    assert.equal(text, 'data: one\n\ndata: two\n\ndata: {"cost":0.000014}\n\ndata: [DONE]\n\n')
    assert.equal(String(withCharge(finalEvents, 14_000n)), text.slice(text.indexOf('data: {')))
    assert.ok(headers.includes('x-sluice-model') && headers.includes('idempotent-replayed'))
    assert.ok(!headers.some((header) => header.startsWith('x-ratelimit')))
  })

  test('replay – cuts a stream that was cut, which those of Anthropic’s format never are', () => {
    for (const [last, isCut] of [
      ['data: [DONE]\n\n', false],
      ['data: {"error":{}}\n\n', true],
    ] as const) {
      const capture = new ResponseCapture()
      capture.add(Buffer.from('data: one\n\n'), 1)
      const stored = capture.finish(Infinity, [Buffer.from(last)], [])
      assert.equal(replayStored(stored, 1n).isCut, isCut)
      assert.equal(replayStored(stored, 1n, messagesFormat).isCut, false)
    }
  })

  test('finish – omits events that were not paid for', () => {
    const capture = new ResponseCapture()
    capture.add(Buffer.from('data: one\n\n'), 10)
    capture.add(Buffer.from('data: two\n\n'), 20)
    assert.deepEqual(capture.cutAfter(19), { delivered: 10, upTo: 10 })
    assert.equal(replayStored(capture.finish(19, [], []), 1n).text, 'data: one\n\n')
  })

  test('size – at most 1 MiB is stored, including final events', () => {
    assert.equal(replayStored(captureBuffered(Buffer.alloc(MiB, 'x'), rates), 5n).text.length, MiB)
    assert.ok(replayStored(captureBuffered(Buffer.from('{}'), rates), 5n).headers.includes('0.000000005'))
    assert.equal(captureBuffered(Buffer.alloc(MiB + 1), []), null)
    for (const [bytes, isKept] of [
      [MiB - 1, true],
      [MiB, false],
    ] as const) {
      const capture = new ResponseCapture()
      capture.add(Buffer.alloc(bytes, 'x'), 1)
      assert.equal(capture.finish(Infinity, [Buffer.from('!')], []) !== null, isKept)
    }
  })
})
