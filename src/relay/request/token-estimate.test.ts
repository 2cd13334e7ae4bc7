import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { imageTokens, noEmbeddedData } from './embedded-data.ts'
import {
  estimateTokens,
  inputEstimateForCharge,
  inputEstimateForHold,
  textWithin,
  TokenCounter,
} from './token-estimate.ts'
import { readChatRequest } from './request-body.ts'

const chat = (content: unknown, more: object = {}) => ({
  model: 'm',
  messages: [{ role: 'user', content }],
  ...more,
})

function holdOf(body: object): number {
  const request = readChatRequest(Buffer.from(JSON.stringify(body)))
  return inputEstimateForHold(request.bytes, request.embedded)
}

describe('token estimate', () => {
  test('estimateTokens – 4 English or 1.75 Chinese characters per token, rounded up once', () => {
    assert.equal(estimateTokens(''), 0)
    assert.equal(estimateTokens('a'), 1)
    assert.equal(estimateTokens('abcd'), 1)
    assert.equal(estimateTokens('abcde'), 2)
    assert.equal(estimateTokens('人工智能模型中'), 4)
    assert.equal(estimateTokens('人工智能模型中继'), 5)
    // 14 characters ÷ 1.75 and 8 ÷ 4.
    assert.equal(estimateTokens('人工智能模型人工智能模型中继 relay: '), 10)
    assert.equal(estimateTokens('é'.repeat(400)), 100)
  })

  test('Without runs, 64 equal characters or white spaces are one token, however they are split', () => {
    const countOf = (...pieces: string[]): number => {
      const count = new TokenCounter()
      for (const piece of pieces) count.add(piece)
      return count.tokensWithoutRuns
    }
    assert.equal(countOf('-'.repeat(6400)), 101)
    assert.equal(countOf('-'.repeat(3200), '-'.repeat(3200)), 101)
    assert.equal(countOf('\n \t'.repeat(640)), 31)
    assert.equal(countOf('字'.repeat(6400)), 101)
    assert.equal(countOf('The quick brown fox jumps over a lazy dog.'), 11)
    assert.equal(textWithin('-'.repeat(6400), (count) => count.tokensWithoutRuns <= 50).length, 3185)
  })

  test('estimateTokens – East Asian scripts count as Chinese, others as English', () => {
    for (const wide of ['㐀', '龥', '。', '，', 'あ', 'カ', '한', 'ㄅ', '豈', '⼀', '𠀀', '\u{30000}']) {
      assert.equal(estimateTokens(wide.repeat(7)), 4, wide)
    }
    for (const narrow of ['ж', 'ع', 'ñ', '–', '€', '😀', '\u{1f468}', '\ud800', '\udc00']) {
      assert.equal(estimateTokens(narrow.repeat(8)), 2, JSON.stringify(narrow))
    }
  })

  test('TokenCounter – splits do not change the count, even inside a surrogate pair', () => {
    const text = fc.string({ unit: 'binary', size: 'medium' })
    const mixed = fc
      .array(fc.constantFrom('中', 'a', '𠀀', '😀', '\ud840', '\udc00', '한'))
      .map((all) => all.join(''))
    const law = fc.property(fc.oneof(text, mixed), fc.array(fc.nat()), (whole, places) => {
      const count = new TokenCounter()
      let from = 0
      for (const place of [...places.map((at) => at % (whole.length + 1)), whole.length].toSorted(
        (a, b) => a - b,
      )) {
        count.add(whole.slice(from, place))
        from = place
      }
      assert.equal(count.tokens, estimateTokens(whole))
    })
    fc.assert(law)
  })

  test('inputEstimateForHold – is the body’s bytes ÷ 4 in any script', () => {
    for (const content of ['Hello', '中继'.repeat(5000), 'x'.repeat(40_001)]) {
      const body = chat(content)
      assert.equal(holdOf(body), Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 4))
    }
    assert.equal(inputEstimateForHold(101, noEmbeddedData, 2), 51)
  })

  test('images – one of 10 MB counts as an image, in hold and charge', () => {
    const url = `data:image/png;base64,${'A'.repeat(10_000_000)}`
    const body = chat([
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url, detail: 'high' } },
    ])
    assert.ok(holdOf(body) > imageTokens && holdOf(body) < imageTokens + 60)
    assert.equal(inputEstimateForCharge(body), imageTokens + 4)
  })

  test('images – a URL counts as an image, and less at low detail in the charge', () => {
    const part = (detail: string) => ({
      type: 'image_url',
      image_url: { url: 'https://example.com/a.png', detail },
    })
    assert.ok(holdOf(chat([part('high'), part('low')])) > 2 * imageTokens)
    assert.equal(inputEstimateForCharge(chat([part('high')])), imageTokens)
    assert.equal(inputEstimateForCharge(chat([part('low')])), 85)
  })

  test('audio, files and text in base64 – count by kind, and more in the hold', () => {
    const mebibyte = Buffer.alloc(1024 * 1024)
    const base64 = (head: string) => {
      mebibyte.write(head.padEnd(16, '.'), 'latin1')
      return mebibyte.toString('base64')
    }
    const wave = base64('RIFF....WAVEfmt ')
    const pdf = `data:application/pdf;base64,${base64('%PDF-')}`
    const cases: [charged: number, held: number, object][] = [
      [2048, 4096, { type: 'input_audio', input_audio: { data: wave, format: 'wav' } }],
      [2048, 4096, { type: 'audio_url', audio_url: { url: `data:audio/wav;base64,${wave}` } }],
      [8192, 32 * 1024, { type: 'input_audio', input_audio: { data: base64('ID3'), format: 'mp3' } }],
      [8192, 8192, { type: 'video_url', video_url: { url: `data:video/mp4;base64,${base64('')}` } }],
      [128 * 1024, 256 * 1024, { type: 'file', file: { file_data: pdf } }],
      [128 * 1024, 256 * 1024, { type: 'file', file: { file_data: base64('%PDF-') } }],
      [
        256 * 1024,
        256 * 1024,
        { type: 'file', file: { file_data: `data:text/plain;base64,${base64('hi')}` } },
      ],
      [imageTokens, imageTokens, { type: 'image', source: { type: 'base64', data: base64('\x89PNG') } }],
      [imageTokens, imageTokens, { type: 'image', source: { data: base64('RIFF....WEBPVP8 ') } }],
    ]
    for (const [tokens, held, part] of cases) {
      const title = JSON.stringify(part).slice(0, 80)
      const charged = inputEstimateForCharge(chat([part]))
      assert.ok(charged >= tokens && charged <= tokens + 40, `${title}: ${charged}`)
      assert.ok(Math.abs(holdOf(chat([part])) - held) < 200, `${title}: ${holdOf(chat([part]))}`)
    }
  })

  test('data in text fields – counts as text', () => {
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

  test('inputEstimateForCharge – counts all texts: content, reasoning, names, calls, tools', () => {
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

  test('estimateTokens – counts ten million characters in linear time', () => {
    const started = performance.now()
    assert.equal(estimateTokens('中a'.repeat(3_500_000)), Math.ceil((3_500_000 * 23) / 28))
    const parts = Array.from({ length: 100_000 }, () => ({
      type: 'image_url',
      image_url: { url: 'data:image/' },
    }))
    assert.ok(holdOf(chat(parts)) >= 100_000 * imageTokens)
    assert.ok(performance.now() - started < 60_000)
  })
})
