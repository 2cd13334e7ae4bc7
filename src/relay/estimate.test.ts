import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  estimateOf,
  imageTokens,
  inputEstimateForCharge,
  inputEstimateForHold,
  TokenCount,
} from './request/token-estimate.ts'
import { readChatRequest } from './request/request-body.ts'

const chat = (content: unknown, more: object = {}) => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  ...more,
})

function holdOf(body: object): number {
  const request = readChatRequest(Buffer.from(JSON.stringify(body)))
  return inputEstimateForHold(request.bytes, request.embedded)
}

test('four English characters are a token, 1.75 Chinese ones, rounded up once', () => {
  assert.equal(estimateOf(''), 0)
  assert.equal(estimateOf('a'), 1)
  assert.equal(estimateOf('abcd'), 1)
  assert.equal(estimateOf('abcde'), 2)
  assert.equal(estimateOf('人工智能模型中'), 4)
  assert.equal(estimateOf('人工智能模型中继'), 5)
  // 14 characters ÷ 1.75 and 8 ÷ 4.
  assert.equal(estimateOf('人工智能模型人工智能模型中继 relay: '), 10)
  assert.equal(estimateOf('é'.repeat(400)), 100)
})

test('every script that is written like Chinese counts as such, others as English', () => {
  for (const wide of ['㐀', '龥', '。', '，', 'あ', 'カ', '한', 'ㄅ', '豈', '⼀', '𠀀', '\u{30000}']) {
    assert.equal(estimateOf(wide.repeat(7)), 4, wide)
  }
  for (const narrow of ['ж', 'ع', 'ñ', '–', '€', '😀', '\u{1f468}', '\ud800', '\udc00']) {
    assert.equal(estimateOf(narrow.repeat(8)), 2, JSON.stringify(narrow))
  }
})

test('where a text is cut does not change its count, a surrogate pair’s middle included', () => {
  const text = fc.string({ unit: 'binary', size: 'medium' })
  const mixed = fc
    .array(fc.constantFrom('中', 'a', '𠀀', '😀', '\ud840', '\udc00', '한'))
    .map((all) => all.join(''))
  const law = fc.property(fc.oneof(text, mixed), fc.array(fc.nat()), (whole, places) => {
    const count = new TokenCount()
    let from = 0
    for (const place of [...places.map((at) => at % (whole.length + 1)), whole.length].toSorted(
      (a, b) => a - b,
    )) {
      count.add(whole.slice(from, place))
      from = place
    }
    assert.equal(count.tokens, estimateOf(whole))
  })
  fc.assert(law)
})

test('a hold’s input is the body’s bytes ÷ 4, whatever the script', () => {
  for (const content of ['Hello', '中继'.repeat(5000), 'x'.repeat(40_001)]) {
    const body = chat(content)
    assert.equal(holdOf(body), Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 4))
  }
  assert.equal(inputEstimateForHold(101, { bytes: 0, tokens: 0 }, 2), 51)
})

test('an image of 10 MB counts as an image, held and charged', () => {
  const url = `data:image/png;base64,${'A'.repeat(10_000_000)}`
  const body = chat([
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url, detail: 'high' } },
  ])
  assert.ok(holdOf(body) > imageTokens && holdOf(body) < imageTokens + 60)
  assert.equal(inputEstimateForCharge(body), imageTokens + 4)
})

test('an image by its address counts as one, and less at low detail when it is charged', () => {
  const part = (detail: string) => ({
    type: 'image_url',
    image_url: { url: 'https://example.com/a.png', detail },
  })
  assert.ok(holdOf(chat([part('high'), part('low')])) > 2 * imageTokens)
  assert.equal(inputEstimateForCharge(chat([part('high')])), imageTokens)
  assert.equal(inputEstimateForCharge(chat([part('low')])), 85)
})

test('sound, files and text in base64 count by their kind', () => {
  const mebibyte = Buffer.alloc(1024 * 1024)
  const base64 = (head: string) => {
    mebibyte.write(head.padEnd(16, '.'), 'latin1')
    return mebibyte.toString('base64')
  }
  const wave = base64('RIFF....WAVEfmt ')
  const cases: [number, object][] = [
    [2 * 1024, { type: 'input_audio', input_audio: { data: wave, format: 'wav' } }],
    [2 * 1024, { type: 'audio_url', audio_url: { url: `data:audio/wav;base64,${wave}` } }],
    [8 * 1024, { type: 'input_audio', input_audio: { data: base64('ID3'), format: 'mp3' } }],
    [8 * 1024, { type: 'video_url', video_url: { url: `data:video/mp4;base64,${base64('')}` } }],
    [128 * 1024, { type: 'file', file: { file_data: `data:application/pdf;base64,${base64('%PDF-')}` } }],
    [128 * 1024, { type: 'file', file: { file_data: base64('%PDF-') } }],
    [256 * 1024, { type: 'file', file: { file_data: `data:text/plain;base64,${base64('hi')}` } }],
    [imageTokens, { type: 'image', source: { type: 'base64', data: base64('\x89PNG') } }],
    [imageTokens, { type: 'image', source: { type: 'base64', data: base64('RIFF....WEBPVP8 ') } }],
  ]
  for (const [tokens, part] of cases) {
    const charged = inputEstimateForCharge(chat([part]))
    assert.ok(charged >= tokens && charged <= tokens + 40, `${JSON.stringify(part).slice(0, 80)}: ${charged}`)
    assert.ok(Math.abs(holdOf(chat([part])) - charged) < 100)
  }
})

test('data in a place where it is read as text counts as text', () => {
  const text = `data:image/png;base64,${'A'.repeat(40_000)}`
  const inMessage = chat(text)
  const inPart = chat([{ type: 'text', text: `"image_url":{"url":"${text}"}` }])
  const inTool = chat('x', {
    tools: [{ type: 'function', function: { name: 'f', parameters: { url: text } } }],
  })
  for (const body of [inMessage, inPart, inTool]) {
    assert.ok(holdOf(body) > 10_000)
    assert.ok(inputEstimateForCharge(body) > 10_000)
  }
})

test('all texts of a request are charged: contents, reasoning, names, calls, tools', () => {
  const request = {
    messages: [
      { role: 'system', content: 'abcd', name: 'abcd' },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'abcd',
        tool_calls: [{ function: { name: 'ab', arguments: 'cd' } }],
      },
      {
        role: 'tool',
        content: [
          { type: 'text', text: 'abcd' },
          { type: 'text', text: '人工智能模型中' },
        ],
      },
      'not a message',
    ],
  }
  assert.equal(inputEstimateForCharge(request), 9)
  const tools = [{ type: 'function', function: { name: 'f' } }]
  const extra = JSON.stringify(tools).length / 4
  assert.equal(inputEstimateForCharge({ ...request, tools }), Math.ceil(9 + extra))
  assert.equal(inputEstimateForCharge({ messages: 'x', tools: null }), 0)
})

test('ten million characters are counted in linear time', () => {
  const started = performance.now()
  assert.equal(estimateOf('中a'.repeat(3_500_000)), Math.ceil((3_500_000 * 23) / 28))
  const parts = Array.from({ length: 100_000 }, () => ({
    type: 'image_url',
    image_url: { url: 'data:image/' },
  }))
  assert.ok(holdOf(chat(parts)) >= 100_000 * imageTokens)
  assert.ok(performance.now() - started < 60_000)
})
