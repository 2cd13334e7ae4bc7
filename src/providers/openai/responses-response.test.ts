import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { assemble, createCall, readResponse, readStreamPayloads } from '../contract.fixture.ts'
import { ChunkCollector } from '../chunk-collector.ts'
import { isObject, type Json } from '../json-fields.ts'
import { findProvider } from '../registry.ts'
import { parseUsage } from '../usage.ts'
import { responsesTranslation } from './responses-response.ts'

const folder = join(process.env['RECORDINGS_DIR'] ?? '', 'responses')
const recordings = existsSync(folder) ? readdirSync(folder) : []
const openai = findProvider('openai')
assert.ok(openai)
const call = createCall(openai, {})

function translatePayloads(payloads: readonly string[]): Json[] {
  const stream = responsesTranslation.createStream(call)
  return [...payloads.flatMap((text) => stream.translate({ name: '', text })), ...stream.end()]
}

const translateEvents = (events: readonly Json[]): Json[] =>
  translatePayloads(events.map((each) => JSON.stringify(each)))

/** The payloads of each response in a recording, and the last event of each. */
function streamsOf(name: string): { readonly payloads: string[]; readonly last: Json }[] {
  const streams: string[][] = []
  for (const payload of readStreamPayloads(folder, name)) {
    if (payload.startsWith('{"type":"response.created"')) streams.push([])
    streams.at(-1)?.push(payload)
  }
  return streams.map((payloads) => {
    const last = (JSON.parse(payloads.at(-1) ?? '') as Json)['response']
    assert.ok(isObject(last))
    return { payloads, last }
  })
}

const event = (type: string, fields: Json): Json => ({ type, ...fields })
const delta = (type: string, text: string, index = 0): Json =>
  event(`response.${type}.delta`, { output_index: index, delta: text })
const added = (item: Json, index = 0): Json =>
  event('response.output_item.added', { output_index: index, item })
const done = (item: Json, index = 0): Json =>
  event('response.output_item.done', { output_index: index, item })
const counts = { input_tokens: 9, output_tokens: 4, total_tokens: 13 }
const completed = (fields: Json = {}): Json =>
  event('response.completed', { response: { id: 'r', status: 'completed', usage: counts, ...fields } })

describe('Responses translation', () => {
  for (const file of recordings.filter((name) => name.endsWith('.chunks.txt'))) {
    const name = file.slice(0, -'.chunks.txt'.length)
    // Its first and last event are cut.
    if (name === 'parallel-tool-call-wrapper.1') continue
    test(`${name} – its stream is metered as its last object says`, () => {
      for (const { payloads, last } of streamsOf(name)) {
        const chunks = translatePayloads(payloads)
        if (last['status'] === 'failed') {
          assert.ok(isObject(chunks.at(-1)?.['error']))
          continue
        }
        const { text, calls, usages, finishes } = assemble(chunks)
        const whole = assemble([responsesTranslation.translateResponse(last, call).response])
        assert.deepEqual([text, calls, finishes], [whole.text, whole.calls, whole.finishes])
        assert.deepEqual(usages, whole.usages)
        assert.equal(usages.length, 1)
      }
    })
  }

  test('web searches – count only calls that search', { skip: recordings.length === 0 }, () => {
    for (const [name, searches, cached] of [
      ['openai-web-search-tool.1', 1, 3712],
      ['xai-web-search-tool.1', 1, 947],
    ] as const) {
      const { response } = responsesTranslation.translateResponse(readResponse(folder, name), call)
      const usage = parseUsage(response['usage'])
      assert.deepEqual([usage?.searches, usage?.cachedInput], [searches, cached])
    }
  })

  test('items that are sent only as a whole – are translated all the same', () => {
    const message = { type: 'message', content: [{ type: 'output_text', text: 'Hello.' }] }
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'So.' }] }
    const called = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' }
    const { text, reasoning, calls, finishes } = assemble(
      translateEvents([done(thought, 0), done(message, 1), added(called, 2), done(called, 2), completed()]),
    )
    assert.deepEqual([text, reasoning], ['Hello.', 'So.'])
    assert.deepEqual(calls, [{ id: 'call_1', name: 'f', arguments: '{"a":1}' }])
    assert.deepEqual(finishes, [{ reason: 'tool_calls', native: 'completed' }])
  })

  test('text in pieces – is not repeated by its whole item', () => {
    const message = { type: 'message', content: [{ type: 'output_text', text: 'Hello.' }] }
    const pieces = [added({ type: 'message' }), delta('output_text', 'Hel'), delta('output_text', 'lo.')]
    assert.equal(assemble(translateEvents([...pieces, done(message), completed()])).text, 'Hello.')
  })

  test('reasoning – is signed with what is encrypted; parts of a summary are paragraphs', () => {
    const summary = ['One.', 'Two.'].map((text) => ({ type: 'summary_text', text }))
    const thought = { type: 'reasoning', summary, encrypted_content: 'gAAA' }
    const part = (summary_index: number): Json =>
      event('response.reasoning_summary_part.added', { output_index: 0, summary_index })
    const piece = (text: string): Json => delta('reasoning_summary_text', text)
    const pieces = [part(0), piece('One.'), part(1), piece('Two.')]
    const detail = { type: 'reasoning.text', text: 'One.\n\nTwo.', signature: 'gAAA', index: 0 }
    for (const events of [
      [done(thought), completed()],
      [added(thought), ...pieces, done(thought), completed()],
    ]) {
      const { reasoning, details } = assemble(translateEvents(events))
      assert.equal(reasoning, 'One.\n\nTwo.')
      assert.deepEqual(details, [{ ...detail, format: 'openai-responses-v1' }])
    }
    const hidden = { type: 'reasoning', summary: [] }
    assert.deepEqual(assemble(translateEvents([done(hidden), completed()])).details, [])
  })

  test('citations and log probabilities – have their places in the chat format', () => {
    const page = { url: 'https://example.com', title: 'Example', start_index: 0, end_index: 5 }
    const annotations = [
      { type: 'url_citation', ...page },
      { type: 'file_citation', file_id: 'f' },
    ]
    const logprobs = [{ token: 'Hello', logprob: -0.1, bytes: [72], top_logprobs: [] }]
    const content = [{ type: 'output_text', text: 'Hello', annotations, logprobs }]
    const message = { type: 'message', content }
    const streamed = [
      event('response.output_text.delta', { output_index: 0, delta: 'Hello', logprobs }),
      done(message),
      completed(),
    ]
    const collector = new ChunkCollector()
    for (const chunk of translateEvents(streamed)) collector.add(chunk)
    const whole = { id: 'r', status: 'completed', output: [message], usage: counts }
    for (const response of [
      collector.completion(),
      responsesTranslation.translateResponse(whole, call).response,
    ]) {
      assert.partialDeepStrictEqual(response['choices'], [
        {
          message: { content: 'Hello', annotations: [{ type: 'url_citation', url_citation: page }] },
          logprobs: { content: logprobs },
        },
      ])
    }
  })

  test('incomplete response – ends with its reason', () => {
    for (const [reason, finish] of [
      ['max_output_tokens', 'length'],
      ['content_filter', 'content_filter'],
    ] as const) {
      const response = { status: 'incomplete', incomplete_details: { reason }, usage: counts }
      const chunks = translateEvents([event('response.incomplete', { response })])
      assert.deepEqual(assemble(chunks).finishes, [{ reason: finish, native: reason }])
    }
  })

  test('errors – are read nested and flat, with the status that they correspond to', () => {
    const fields = { code: 'rate_limit_exceeded', message: 'Slow down.' }
    for (const failed of [
      event('error', { error: fields }),
      event('error', fields),
      event('response.failed', { response: { status: 'failed', error: fields } }),
    ]) {
      const [chunk] = translateEvents([failed])
      const error = { message: 'Slow down.', type: fields.code, code: fields.code, status_code: 429 }
      assert.deepEqual(chunk, { error })
    }
  })

  test('what is no response – is rejected', () => {
    assert.throws(() => responsesTranslation.translateResponse({ choices: [] }, call))
    assert.throws(() => translateEvents([{ choices: [] }]))
  })
})
