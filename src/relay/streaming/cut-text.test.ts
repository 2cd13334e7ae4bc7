import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeSseEvent } from '../../lib/sse/sse-parser.ts'
import { isObject } from '../../providers/json-fields.ts'
import { EventBuffer } from './event-buffer.ts'
import { cutEncoded, cutText } from './cut-text.ts'
import { ResponseCapture } from './response-capture.ts'

/** 40 characters are 10 tokens. */
const text = 'A hold ends when the caller disconnects.'
const chunkWith = (delta: object, finish: string | null = null) => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const encode = (json: object, name?: string): Buffer => encodeSseEvent(JSON.stringify(json), name)
const blockStart = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
const blockDelta = (written: string) => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: written },
})

describe('cutText', () => {
  const cut = (event: object, tokens: number) => cutText(event, (count) => count.tokens <= tokens)

  test('The text of a chunk is kept as far as it fits', () => {
    const part = cut(chunkWith({ role: 'assistant', content: text }, 'stop'), 3)
    assert.deepEqual(part?.event, chunkWith({ role: 'assistant', content: text.slice(0, 12) }))
    assert.equal(part.tokens, 3)
    assert.equal(cut(chunkWith({ content: text }), 99)?.tokens, 10)
  })

  test('Each format has its own text', () => {
    const kept = text.slice(0, 4)
    const completion = { choices: [{ index: 0, text, finish_reason: 'stop' }] }
    assert.partialDeepStrictEqual(cut(completion, 1)?.event, {
      choices: [{ text: kept, finish_reason: null }],
    })
    assert.deepEqual(cut(blockDelta(text), 1)?.event, blockDelta(kept))
    const delta = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: text }
    assert.deepEqual(cut(delta, 1)?.event, { ...delta, delta: kept })
  })

  test('What is no text, or of which nothing fits, is not cut', () => {
    const call = { index: 0, function: { name: 'f', arguments: '{"a":1}' } }
    assert.equal(cut(chunkWith({ tool_calls: [call] }), 5), null)
    assert.equal(cut(chunkWith({ content: text, tool_calls: [call] }), 5), null)
    assert.equal(cut({ type: 'response.function_call_arguments.delta', delta: '{"a":1}' }, 5), null)
    assert.equal(cut(chunkWith({ content: text }), 0), null)
    assert.equal(
      cutText('[DONE]', () => true),
      null,
    )
  })

  test('A character of two units stays whole', () => {
    const part = cut(chunkWith({ content: '𠮷𠮷𠮷' }), 1)
    assert.equal(part?.tokens, 1)
    const [choice] = part.event['choices'] as [{ delta: { content: string } }]
    assert.equal(choice.delta.content, '𠮷')
  })
})

describe('cutEncoded', () => {
  test('Events that begin a block stay before the part of its text', () => {
    const events = Buffer.concat([
      encode(blockStart, 'content_block_start'),
      encode(blockDelta(text), 'content_block_delta'),
    ])
    const part = cutEncoded(events, 2)
    const expected = [
      encode(blockStart, 'content_block_start'),
      encode(blockDelta(text.slice(0, 8)), 'content_block_delta'),
    ]
    assert.deepEqual([part?.bytes.toString(), part?.tokens], [Buffer.concat(expected).toString(), 2])
  })

  test('Several texts, comments and other data are not cut', () => {
    const delta = encode(chunkWith({ content: text }))
    for (const events of [
      Buffer.concat([delta, delta]),
      Buffer.from(': comment\n\n'),
      Buffer.from('data: 1\n\n'),
    ])
      assert.equal(cutEncoded(events, 2), null)
  })
})

describe('A stream that money ends', () => {
  const first = encode(chunkWith({ content: 'Yes. ' }))
  const large = encode(chunkWith({ content: text }))

  test('The buffer keeps the part of an event that is paid for', () => {
    const buffer = new EventBuffer()
    buffer.add(first, 2)
    buffer.add(large, 12)
    buffer.add(large, 22)
    assert.deepEqual(buffer.cutAfter(7, 0), { delivered: 7, upTo: 12 })
    assert.equal(buffer.shift().toString(), first.toString())
    const json: unknown = JSON.parse(buffer.shift().toString().slice('data: '.length))
    assert.deepEqual(isObject(json) && json, chunkWith({ content: text.slice(0, 20) }))
    assert.equal(buffer.isEmpty, true)
  })

  test('Nothing is kept of what is no text, and all of what is paid for', () => {
    const buffer = new EventBuffer()
    buffer.add(encode(chunkWith({ tool_calls: [] })), 5)
    assert.equal(buffer.cutAfter(5, 0), null)
    assert.equal(buffer.cutAfter(4, 0), null)
    assert.equal(buffer.isEmpty, true)
  })

  test('The stored response has the same part', () => {
    const capture = new ResponseCapture()
    capture.add(first, 2)
    capture.add(large, 12)
    assert.deepEqual(capture.cutAfter(7), { delivered: 7, upTo: 12 })
    const stored = Buffer.from(capture.finish(7, [], []) ?? []).toString()
    assert.ok(stored.includes(text.slice(0, 20)) && !stored.includes(text.slice(0, 21)))
  })
})
