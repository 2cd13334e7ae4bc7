import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { billingLimitsOf } from '../../providers/billing-limits.ts'
import { inputBound, inputTokensToHold } from './input-bound.ts'
import { readCompletionRequest } from './completion-request.ts'
import { readEmbeddingRequest } from './embedding-request.ts'
import { messagesRequest } from './messages.fixture.ts'
import { readChatRequest } from './request-body.ts'

const model = { contextTokens: 200_000, maxOutputTokens: 10_000 }
const routesTo = (...providers: string[]) => providers.map((provider) => ({ upstream: { provider } }))

function chat(parts: unknown, more: object = {}) {
  const messages = [{ role: 'user', content: parts }]
  return readChatRequest(Buffer.from(JSON.stringify({ model: 'm', max_tokens: 1000, messages, ...more })))
}

const messages = (block: object) => messagesRequest({ messages: [{ role: 'user', content: [block] }] })
const hold = (request: ReturnType<typeof chat | typeof messages>, provider = 'openai') =>
  inputTokensToHold(request, model, routesTo(provider))

const url = 'https://example.com/a'
const pdf = `JVBERi${'A'.repeat(4000)}`

describe('inputTokensToHold', () => {
  test('text – is held by its bytes', () => {
    const request = chat('Hello there')
    assert.equal(hold(request), Math.ceil(request.bytes / 4))
  })

  test('files, audio and video by URL or id – are held at the context less the asked maximum', () => {
    const parts = [
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: url } },
      { type: 'file', file_id: 'file-1' },
      { type: 'file_url', file_url: { url } },
      { type: 'document_url', document_url: url },
      { type: 'input_audio', input_audio: { data: url, format: 'mp3' } },
      { type: 'audio_url', audio_url: { url } },
      { type: 'video_url', video_url: { url } },
      { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } },
      { type: 'video', video: [url, url] },
      { type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}`, file_id: 'file-1' } },
    ]
    for (const part of parts) {
      assert.equal(hold(chat([part])), 199_000, JSON.stringify(part))
    }
    const escaped =
      '{"model":"m","messages":[{"role":"user","content":[{"type":"file","\\u0066ile_id":"f"}]}]}'
    assert.equal(hold(readChatRequest(Buffer.from(escaped))), 200_000)
    const earlier = { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }
    assert.equal(hold(chat('', earlier)), 199_000)
  })

  test('documents of Messages by URL or id – are held like files, images and tool inputs are not', () => {
    const maximum = messages({ type: 'text', text: 'a' }).maxOutputTokens
    const whole = model.contextTokens - maximum
    for (const block of [
      { type: 'document', source: { type: 'url', url } },
      { source: { type: 'url', url }, type: 'document' },
      { type: 'document', source: { type: 'file', file_id: 'file_1' } },
      { type: 'container_upload', file_id: 'file_1' },
      {
        type: 'tool_result',
        tool_use_id: 't',
        content: [{ type: 'document', source: { type: 'url', url } }],
      },
    ])
      assert.equal(hold(messages(block)), whole, JSON.stringify(block))
    for (const block of [
      { type: 'image', source: { type: 'url', url } },
      { type: 'image', source: { type: 'file', file_id: 'file_1' } },
      { type: 'tool_use', id: 't', name: 'open', input: { url } },
      { type: 'search_result', source: url, title: 'A', content: [{ type: 'text', text: 'a' }] },
    ])
      assert.ok(hold(messages(block)) < 5_000, JSON.stringify(block))
  })

  test('embedded documents – are held at their pages, at most at the context less the maximum', () => {
    const document = chat([{ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } }])
    assert.equal(hold(document), 199_000)
    const wide = { contextTokens: 4_000_000, maxOutputTokens: null }
    const pages = (provider: string) => inputTokensToHold(document, wide, routesTo('openai', provider))
    assert.ok(Math.abs(pages('openai') - 460_000) < 100)
    assert.ok(Math.abs(pages('anthropic') - 2_760_000) < 100)
    const large = 'JVBERi'.padEnd(8_000_000, 'A')
    const larger = chat([{ type: 'file', file: { file_data: large } }])
    assert.ok(Math.abs(inputTokensToHold(larger, wide, routesTo('openai')) - 1_500_000) < 100)
    assert.ok(hold(messages({ type: 'document', source: { type: 'base64', data: pdf } })) > 190_000)
  })

  test('maximum above the context – never lowers the hold below the bytes', () => {
    const request = chat([{ type: 'file', file: { file_id: 'file-1' } }], { max_tokens: 10_000_000 })
    assert.equal(hold(request), 190_000)
    const context = { contextTokens: 8000, maxOutputTokens: null }
    assert.ok(inputTokensToHold(request, context, []) >= request.bytes / 4)
  })
})

describe('inputBound', () => {
  const openai = billingLimitsOf('openai')

  test('text – is bounded by its bytes, and what the provider adds', () => {
    const plain = chat('Hello')
    assert.equal(inputBound(plain, openai, false), plain.bytes + 1024)
    const tools = chat('Hello', { tools: [{ type: 'function', function: { name: 'f' } }] })
    assert.equal(inputBound(tools, openai, false), tools.bytes + 1024 + 512)
    assert.equal(inputBound(tools, billingLimitsOf('anthropic'), false), tools.bytes + 1024 + 4096)
  })

  test('images – count as the dearest image, not by their bytes', () => {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(100_000)}` } }
    const tokens = inputBound(chat([image, image]), openai, false)
    assert.ok(tokens > 2 * 48_169 && tokens < 2 * 48_169 + 1500, String(tokens))
  })

  test('documents, files by id and searches – are bounded by their pages, or by the model alone', () => {
    const document = chat([{ type: 'file', file: { file_data: `data:application/pdf;base64,${pdf}` } }])
    const tokens = inputBound(document, openai, false)
    assert.ok(tokens >= 460_000 && tokens < 470_000, String(tokens))
    assert.equal(inputBound(chat([{ type: 'file', file: { file_id: 'f' } }]), openai, false), Infinity)
    assert.equal(inputBound(chat('Hello'), openai, true), Infinity)
  })

  test('Embeddings and completions have no allowance, and token ids are counted exactly', () => {
    const json = (body: object) => Buffer.from(JSON.stringify({ model: 'm', ...body }))
    const text = readEmbeddingRequest(json({ input: 'Hello' }))
    assert.equal(inputBound(text, openai, false), text.bytes)
    for (const input of [[15339], [[1, 2], [100_257]]]) {
      const { length } = input.flat()
      assert.equal(inputBound(readEmbeddingRequest(json({ input })), openai, false), length)
      assert.equal(inputBound(readCompletionRequest(json({ prompt: input })), openai, false), length)
    }
    const suffixed = readCompletionRequest(json({ prompt: [15339], suffix: 'end' }))
    assert.equal(inputBound(suffixed, openai, false), suffixed.bytes)
  })

  test('A conversation that the provider compacts is bounded by the model alone', () => {
    const request = messagesRequest({ context_management: { edits: [{ type: 'compact_20260112' }] } })
    assert.equal(inputBound(request, billingLimitsOf('anthropic'), false), Infinity)
  })
})
