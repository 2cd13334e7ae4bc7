/**
 * The contract of all providers. It runs for every provider in the registry, with its recordings in fixtures/ and in
 * the folder RECORDINGS_DIR.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import {
  assemble,
  encodeStream,
  createCall,
  translateStream,
  credentialOf,
  recordingsOf,
  responsesOnlyProvider,
  readStreamPayloads,
  sentBody,
  readResponse,
  type AssembledResponse,
} from './contract.fixture.ts'
import { UnsupportedFeatureError, type Chunk, type Provider } from './provider.ts'
import { providerNames, findProvider } from './registry.ts'
import { isObject } from './json-fields.ts'
import { parseUsage } from './usage.ts'

const providers = [...providerNames.flatMap((name) => findProvider(name) ?? []), responsesOnlyProvider()]
const translatedProviders = providers.filter(({ translation }) => translation)

function assembleResponse(provider: Provider, folder: string, name: string): AssembledResponse {
  const body = readResponse(folder, name)
  const response = provider.translation?.translateResponse(body, createCall(provider, {})).response ?? body
  assert.ok(isObject(response))
  return assemble([response])
}

function assembleStream(provider: Provider, folder: string, name: string): AssembledResponse {
  const bytes = encodeStream(provider, readStreamPayloads(folder, name))
  return assemble(translateStream(provider, createCall(provider, { stream: true }), [bytes]))
}

/** The chunks without ids, which differ in every run. */
function withoutIds(chunks: readonly Chunk[]): unknown[] {
  return chunks.map((chunk) => ({ ...chunk, id: '' }))
}

describe('provider contract', () => {
  for (const provider of providers) {
    const { name } = provider

    test(`${name} – sends the upstream’s model name and key`, () => {
      for (const stream of [false, true]) {
        const request = provider.buildRequest(createCall(provider, { stream }, { token: 'a-token' }))
        const body = sentBody(provider, createCall(provider, { stream }))
        const headers = JSON.stringify(request.headers)
        assert.ok(URL.canParse(request.url))
        assert.ok(body['model'] === 'upstream-model' || request.url.includes('/upstream-model'), 'the model')
        const proofs = [credentialOf(provider), 'Credential=AKIDEXAMPLE']
        assert.ok(
          proofs.some((proof) => headers.includes(proof)),
          'the key',
        )
        assert.ok(!JSON.stringify(body).includes('callers-model'), "the caller's model name is not sent")
      }
    })

    test(`${name} – sends a required maximum, never more than the caller’s`, () => {
      const bounded = JSON.stringify(sentBody(provider, createCall(provider, {}, { maximumTokens: 77 })))
      const maximum = /"(max_tokens|max_completion_tokens|max_output_tokens|maxTokens|maxOutputTokens)":77\b/
      assert.match(bounded, maximum)
      if (!provider.translation) return
      const request = createCall(provider, { max_completion_tokens: 50 }, { maximumTokens: 77 })
      assert.match(
        JSON.stringify(sentBody(provider, request)),
        /"(max_tokens|max_output_tokens|maxTokens|maxOutputTokens)":50\b/,
      )
    })

    test(`${name} – translates a response with text, finish reason and usage`, () => {
      const response = assembleResponse(provider, recordingsOf(provider), 'text')
      assert.equal(response.text, 'Hello, world.')
      assert.equal(response.finishes[0]?.reason, 'stop')
      const usage = parseUsage(response.usages[0])
      assert.deepEqual([usage?.input, usage?.output], [20, 4])
      // Tokens read from a cache are part of the input; Cohere bills none of them.
      assert.equal(usage?.cachedInput, name === 'cohere' ? 0 : 8)
    })

    test(`${name} – translates a stream to the same, with one reason and final usage`, () => {
      const folder = recordingsOf(provider)
      const chunks = translateStream(provider, createCall(provider, { stream: true }), [
        encodeStream(provider, readStreamPayloads(folder, 'text')),
      ])
      const [first, last] = [chunks[0], chunks.at(-1)]
      assert.match(JSON.stringify(first), /"role":"assistant"/)
      assert.deepEqual(last?.['choices'], [])
      const streamed = assemble(chunks)
      const response = assembleResponse(provider, folder, 'text')
      assert.deepEqual([streamed.text, streamed.finishes], [response.text, response.finishes])
      assert.equal(streamed.usages.length, 1)
      assert.deepEqual(parseUsage(streamed.usages[0]), parseUsage(response.usages[0]))
      for (const chunk of chunks) {
        assert.equal(chunk['object'], 'chat.completion.chunk')
        assert.equal(chunk['id'], chunks[0]?.['id'])
      }
    })

    test(`${name} – reports neither finish reason nor usage for a truncated stream`, () => {
      const payloads = readStreamPayloads(recordingsOf(provider), 'text')
      const cut = payloads.slice(0, name === 'gemini' || name === 'vertex' ? 1 : 3)
      const call = createCall(provider, { stream: true })
      const streamed = assemble(translateStream(provider, call, [encodeStream(provider, cut)]))
      assert.deepEqual([streamed.finishes, streamed.usages], [[], []])
    })

    test(`${name} – translates a stream split at any byte, with any line ending`, () => {
      const recordings = provider.translation ? ['text', 'tools'] : ['text']
      for (const recording of recordings) {
        const payloads = readStreamPayloads(recordingsOf(provider), recording)
        const call = createCall(provider, { stream: true })
        const expected = withoutIds(translateStream(provider, call, [encodeStream(provider, payloads)]))
        assert.ok(expected.length > 3)
        for (const lineEnd of provider.translation?.createFraming ? ['\n'] : ['\n', '\r\n', '\r']) {
          const bytes = encodeStream(provider, payloads, lineEnd)
          for (let at = 1; at < bytes.length; at++) {
            const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
            assert.deepEqual(withoutIds(translateStream(provider, call, pieces)), expected, `cut at ${at}`)
          }
          const single = Array.from(bytes, (byte) => Buffer.from([byte]))
          assert.deepEqual(withoutIds(translateStream(provider, call, single)), expected, 'byte by byte')
        }
      }
    })

    test(`${name} – keeps the status of an error unless it is known to mislead`, () => {
      for (const status of [400, 401, 402, 403, 404, 413, 422, 429, 500, 503, 529]) {
        const body = { error: { message: 'Your credit balance is too low, said the caller.', code: status } }
        assert.equal(provider.effectiveStatus?.({ status, body, errorType: null }) ?? status, status)
      }
    })
  }

  for (const provider of translatedProviders) {
    const { name, translation } = provider

    test(`${name} – translates interleaved tool calls with thinking as in the transcript`, () => {
      const folder = recordingsOf(provider)
      const call = createCall(provider, { stream: true })
      const chunks = translateStream(provider, call, [
        encodeStream(provider, readStreamPayloads(folder, 'tools')),
      ])
      const lines = chunks.map((chunk) => {
        const [choice] = chunk['choices'] as Record<string, unknown>[]
        if (!choice) return JSON.stringify({ usage: chunk['usage'] })
        const { finish_reason: reason, native_finish_reason: native, delta } = choice
        return JSON.stringify(reason === null ? delta : { finish: [reason, native] })
      })
      const golden = readFileSync(join(folder, 'tools.golden.txt'), 'utf8').trimEnd()
      assert.deepEqual(lines, golden.split('\n'))
      const { finishes: _, ...streamed } = assemble(chunks)
      const { finishes: __, ...response } = assembleResponse(provider, folder, 'tools')
      assert.deepEqual(streamed, response)
      assert.deepEqual(
        streamed.calls.map((each) => [each.name, each.arguments]),
        [
          ['weather', '{"city":"Bern"}'],
          ['weather', '{"city":"Lima"}'],
          ['clock', '{}'],
        ],
      )
    })

    test(`${name} – rejects invalid responses and events`, () => {
      const call = createCall(provider, { stream: true })
      for (const body of [{}, [], { hello: 'world' }])
        assert.throws(() => translation?.translateResponse(body, call))
      for (const text of ['nonsense', '[]', '"text"']) {
        assert.throws(() => translation?.createStream(call).translate({ name: '', text }))
      }
    })

    test(`${name} – rejects unsupported features by their field`, () => {
      const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
      const cases: [param: RegExp, fields: Record<string, unknown>][] = [
        [/^functions\[0\]\.name$/, { functions: [{}] }],
        [/^function_call$/, { function_call: 'auto' }],
        [
          /^messages\[0\]\.content\[0\]\.type$/,
          { messages: [{ role: 'user', content: [{ type: 'video' }] }] },
        ],
        [/^messages\[0\]\.role$/, { messages: [{ role: 'critic', content: 'x' }] }],
        [/^tools\[0\]\.type$/, { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
      ]
      const isGoogle = name === 'gemini' || name === 'vertex'
      if (!isGoogle) cases.push([/^n$/, { n: 2 }])
      if (!isGoogle)
        cases.push([/^messages\[0\]\.content\[0\]/, { messages: [{ role: 'user', content: [audio] }] }])
      for (const [param, fields] of cases) {
        assert.throws(
          () => provider.buildRequest(createCall(provider, fields)),
          (error) => error instanceof UnsupportedFeatureError && param.test(error.param),
          `${param}`,
        )
      }
    })
  }

  test('signed thinking – goes back unchanged to its provider, and to no other', () => {
    for (const from of translatedProviders.filter(({ name }) => name !== 'cohere')) {
      const { text, details, calls } = assembleResponse(from, recordingsOf(from), 'tools')
      const signatures = details.map((detail) => String(detail['signature'] ?? detail['data']))
      assert.ok(signatures.length > 0)
      const toolCalls = calls.map(({ id, name, arguments: input }) => {
        return { id, type: 'function', function: { name, arguments: input } }
      })
      const messages = [
        { role: 'user', content: 'Hello?' },
        { role: 'assistant', content: text, tool_calls: toolCalls, reasoning_details: details },
        ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'It is noon.' })),
      ]
      for (const to of translatedProviders) {
        const sent = JSON.stringify(sentBody(to, createCall(to, { messages })))
        const isSame = recordingsOf(to) === recordingsOf(from)
        for (const signature of signatures)
          assert.equal(sent.includes(signature), isSame, `${from.name} → ${to.name}`)
      }
    }
  })

  const recordings = process.env['RECORDINGS_DIR'] ?? ''
  const leftOut = recordings === '' ? 'RECORDINGS_DIR is not set' : false
  /** Folders of recordings whose provider has another name here. Recordings of other APIs are skipped. */
  const folders: Readonly<Record<string, string>> = {
    google: 'gemini',
    alibaba: 'qwen',
    moonshotai: 'moonshot',
    'amazon-bedrock': 'bedrock',
  }

  test('recorded responses – have content, one finish reason and usage once', { skip: leftOut }, (t) => {
    let played = 0
    let nonEmpty = 0
    for (const folder of existsSync(recordings) ? readdirSync(recordings) : []) {
      const provider = findProvider(folders[folder] ?? folder)
      if (!provider) continue
      for (const file of readdirSync(join(recordings, folder))) {
        const text = readFileSync(join(recordings, folder, file), 'utf8')
        const isChat = provider.translation ? !text.includes('"error"') : text.includes('chat.completion')
        if (!isChat || file.includes('spliced')) continue
        const [, name = '', ending] = /^(.*?)\.(json|chunks\.txt)$/.exec(file) ?? []
        const play = ending === 'json' ? assembleResponse : assembleStream
        const {
          text: content,
          reasoning,
          calls,
          finishes,
          usages,
        } = play(provider, join(recordings, folder), name)
        if (content !== '' || reasoning !== '' || calls.length > 0) nonEmpty += 1
        assert.equal(finishes.length, 1, file)
        for (const call of calls) assert.ok(isObject(JSON.parse(call.arguments)), file)
        const times = text.includes('"usage') ? 1 : 0
        if (provider.translation) assert.equal(usages.length, times, file)
        assert.ok(
          usages.every((usage) => parseUsage(usage)),
          file,
        )
        played += 1
      }
    }
    t.diagnostic(`${played} recordings`)
    // A few are refusals without content.
    assert.ok(nonEmpty > 0 && nonEmpty >= played * 0.9, `${nonEmpty} of ${played} have content`)
  })
})
