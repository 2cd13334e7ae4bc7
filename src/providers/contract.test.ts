/**
 * What every provider keeps, whatever it speaks. A new provider is held to it by its line in the registry, and by its
 * recordings: fixtures/ and the folder that RECORDINGS_DIR names.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import {
  assembled,
  bytesOf,
  callOf,
  chunksOf,
  credentialOf,
  ownRecordings,
  payloadsIn,
  sentBody,
  wholeIn,
  type Assembled,
} from './contract.fixture.ts'
import { Inexpressible, type Chunk, type Provider } from './provider.ts'
import { providerNames, providerOf } from './registry.ts'
import { isObject, usageOf } from './usage.ts'

const providers = providerNames.flatMap((name) => providerOf(name) ?? [])
const dialects = providers.filter(({ translation }) => translation)

function playedWhole(provider: Provider, folder: string, name: string): Assembled {
  const body = wholeIn(folder, name)
  const whole = provider.translation?.whole(body, callOf(provider, {})) ?? body
  assert.ok(isObject(whole))
  return assembled([whole])
}

function playedStream(provider: Provider, folder: string, name: string): Assembled {
  const bytes = bytesOf(provider, payloadsIn(folder, name))
  return assembled(chunksOf(provider, callOf(provider, { stream: true }), [bytes]))
}

/** The same answer without what every run makes anew. */
function withoutIds(chunks: readonly Chunk[]): unknown[] {
  return chunks.map((chunk) => ({ ...chunk, id: '' }))
}

for (const provider of providers) {
  const { name } = provider

  test(`${name}: asks with the upstream's model name and key`, () => {
    for (const stream of [false, true]) {
      const asked = provider.ask(callOf(provider, { stream }, { token: 'a-token' }))
      const body = sentBody(provider, callOf(provider, { stream }))
      const headers = JSON.stringify(asked.headers)
      assert.ok(URL.canParse(asked.url))
      assert.ok(body['model'] === 'upstream-model' || asked.url.includes('/upstream-model'), 'the model')
      const proofs = [credentialOf(provider), 'Credential=AKIDEXAMPLE']
      assert.ok(
        proofs.some((proof) => headers.includes(proof)),
        'the key',
      )
      assert.ok(!JSON.stringify(body).includes('callers-model'), "the caller's name for the model stays here")
    }
  })

  test(`${name}: a maximum that money requires is sent, and never more than the caller asked`, () => {
    const bounded = JSON.stringify(sentBody(provider, callOf(provider, {}, { maximumTokens: 77 })))
    assert.match(bounded, /"(max_tokens|max_completion_tokens|maxTokens|maxOutputTokens)":77\b/)
    if (!provider.translation) return
    const asked = callOf(provider, { max_completion_tokens: 50 }, { maximumTokens: 77 })
    assert.match(JSON.stringify(sentBody(provider, asked)), /"(max_tokens|maxTokens|maxOutputTokens)":50\b/)
  })

  test(`${name}: a whole answer carries words, a reason and usage`, () => {
    const whole = playedWhole(provider, ownRecordings(provider), 'text')
    assert.equal(whole.text, 'Hello, world.')
    assert.equal(whole.finishes[0]?.reason, 'stop')
    const usage = usageOf(whole.usages[0])
    assert.deepEqual([usage?.input, usage?.output], [20, 4])
    // What was read from a cache is part of the input; Cohere bills none of it.
    assert.equal(usage?.cachedInput, name === 'cohere' ? 0 : 8)
  })

  test(`${name}: a stream says the same, ends with one reason and tells its usage once, at the end`, () => {
    const folder = ownRecordings(provider)
    const chunks = chunksOf(provider, callOf(provider, { stream: true }), [
      bytesOf(provider, payloadsIn(folder, 'text')),
    ])
    const [first, last] = [chunks[0], chunks.at(-1)]
    assert.match(JSON.stringify(first), /"role":"assistant"/)
    assert.deepEqual(last?.['choices'], [])
    const streamed = assembled(chunks)
    const whole = playedWhole(provider, folder, 'text')
    assert.deepEqual([streamed.text, streamed.finishes], [whole.text, whole.finishes])
    assert.equal(streamed.usages.length, 1)
    assert.deepEqual(usageOf(streamed.usages[0]), usageOf(whole.usages[0]))
    for (const chunk of chunks) {
      assert.equal(chunk['object'], 'chat.completion.chunk')
      assert.equal(chunk['id'], chunks[0]?.['id'])
    }
  })

  test(`${name}: a stream that breaks off tells neither a reason nor usage`, () => {
    const payloads = payloadsIn(ownRecordings(provider), 'text')
    const cut = payloads.slice(0, name === 'gemini' || name === 'vertex' ? 1 : 3)
    const call = callOf(provider, { stream: true })
    const streamed = assembled(chunksOf(provider, call, [bytesOf(provider, cut)]))
    assert.deepEqual([streamed.finishes, streamed.usages], [[], []])
  })

  test(`${name}: cut at every byte, with LF, CR LF and CR, a stream makes the same chunks`, () => {
    const recordings = provider.translation ? ['text', 'tools'] : ['text']
    for (const recording of recordings) {
      const payloads = payloadsIn(ownRecordings(provider), recording)
      const call = callOf(provider, { stream: true })
      const expected = withoutIds(chunksOf(provider, call, [bytesOf(provider, payloads)]))
      assert.ok(expected.length > 3)
      for (const lineEnd of provider.translation?.framing ? ['\n'] : ['\n', '\r\n', '\r']) {
        const bytes = bytesOf(provider, payloads, lineEnd)
        for (let at = 1; at < bytes.length; at++) {
          const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
          assert.deepEqual(withoutIds(chunksOf(provider, call, pieces)), expected, `cut at ${at}`)
        }
        const single = Array.from(bytes, (byte) => Buffer.from([byte]))
        assert.deepEqual(withoutIds(chunksOf(provider, call, single)), expected, 'byte by byte')
      }
    }
  })

  test(`${name}: a failure's status means what it says, unless it is known to mislead`, () => {
    for (const status of [400, 401, 402, 403, 404, 413, 422, 429, 500, 503, 529]) {
      const body = { error: { message: 'Your credit balance is too low, said the caller.', code: status } }
      assert.equal(provider.statusOf?.({ status, body, errorType: null }) ?? status, status)
    }
  })
}

for (const provider of dialects) {
  const { name, translation } = provider

  test(`${name}: three parallel tool calls, interleaved, with thinking, as the transcript has them`, () => {
    const folder = ownRecordings(provider)
    const call = callOf(provider, { stream: true })
    const chunks = chunksOf(provider, call, [bytesOf(provider, payloadsIn(folder, 'tools'))])
    const lines = chunks.map((chunk) => {
      const [choice] = chunk['choices'] as Record<string, unknown>[]
      if (!choice) return JSON.stringify({ usage: chunk['usage'] })
      const { finish_reason: reason, native_finish_reason: native, delta } = choice
      return JSON.stringify(reason === null ? delta : { finish: [reason, native] })
    })
    const golden = readFileSync(join(folder, 'tools.golden.txt'), 'utf8').trimEnd()
    assert.deepEqual(lines, golden.split('\n'))
    const { finishes: _, ...streamed } = assembled(chunks)
    const { finishes: __, ...whole } = playedWhole(provider, folder, 'tools')
    assert.deepEqual(streamed, whole)
    assert.deepEqual(
      streamed.calls.map((each) => [each.name, each.arguments]),
      [
        ['weather', '{"city":"Bern"}'],
        ['weather', '{"city":"Lima"}'],
        ['clock', '{}'],
      ],
    )
  })

  test(`${name}: what is none of its answers is not taken for one`, () => {
    const call = callOf(provider, { stream: true })
    for (const body of [{}, [], { hello: 'world' }]) assert.throws(() => translation?.whole(body, call))
    for (const text of ['nonsense', '[]', '"text"']) {
      assert.throws(() => translation?.stream(call).take({ name: '', text }))
    }
  })

  test(`${name}: what it cannot say is refused by its name in the request`, () => {
    const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }
    const cases: [param: RegExp, fields: Record<string, unknown>][] = [
      [/^functions$/, { functions: [] }],
      [/^messages\[0\]\.content\[0\]\.type$/, { messages: [{ role: 'user', content: [{ type: 'video' }] }] }],
      [/^messages\[0\]\.role$/, { messages: [{ role: 'function', content: 'x' }] }],
      [/^tools\[0\]\.type$/, { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
    ]
    const isGoogle = name === 'gemini' || name === 'vertex'
    if (!isGoogle) cases.push([/^n$/, { n: 2 }])
    if (!isGoogle)
      cases.push([/^messages\[0\]\.content\[0\]/, { messages: [{ role: 'user', content: [audio] }] }])
    for (const [param, fields] of cases) {
      assert.throws(
        () => provider.ask(callOf(provider, fields)),
        (error) => error instanceof Inexpressible && param.test(error.param),
        `${param}`,
      )
    }
  })
}

test('one dialect never gets the signed thinking of another, and its own comes back as it was', () => {
  for (const from of dialects.filter(({ name }) => name !== 'cohere')) {
    const { text, details, calls } = playedWhole(from, ownRecordings(from), 'tools')
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
    for (const to of dialects) {
      const sent = JSON.stringify(sentBody(to, callOf(to, { messages })))
      const isSame = ownRecordings(to) === ownRecordings(from)
      for (const signature of signatures)
        assert.equal(sent.includes(signature), isSame, `${from.name} → ${to.name}`)
    }
  }
})

const recordings = process.env['RECORDINGS_DIR'] ?? ''
const leftOut = recordings === '' ? 'RECORDINGS_DIR names no folder of recorded answers' : false
/** The folders of recordings whose provider has another name here; those of another API are not answers of chat. */
const folders: Readonly<Record<string, string>> = {
  google: 'gemini',
  alibaba: 'qwen',
  moonshotai: 'moonshot',
  'amazon-bedrock': 'bedrock',
}

test(
  'recorded answers are read: words, thinking or a tool call, a reason, usage once',
  { skip: leftOut },
  (t) => {
    let played = 0
    let said = 0
    for (const folder of existsSync(recordings) ? readdirSync(recordings) : []) {
      const provider = providerOf(folders[folder] ?? folder)
      if (!provider) continue
      for (const file of readdirSync(join(recordings, folder))) {
        const text = readFileSync(join(recordings, folder, file), 'utf8')
        const isChat = provider.translation ? !text.includes('"error"') : text.includes('chat.completion')
        if (!isChat || file.includes('spliced')) continue
        const [, name = '', ending] = /^(.*?)\.(json|chunks\.txt)$/.exec(file) ?? []
        const play = ending === 'json' ? playedWhole : playedStream
        const {
          text: words,
          reasoning,
          calls,
          finishes,
          usages,
        } = play(provider, join(recordings, folder), name)
        if (words !== '' || reasoning !== '' || calls.length > 0) said += 1
        assert.equal(finishes.length, 1, file)
        for (const call of calls) assert.ok(isObject(JSON.parse(call.arguments)), file)
        const times = text.includes('"usage') ? 1 : 0
        if (provider.translation) assert.equal(usages.length, times, file)
        assert.ok(
          usages.every((usage) => usageOf(usage)),
          file,
        )
        played += 1
      }
    }
    t.diagnostic(`${played} recordings`)
    // A few are refusals, which say nothing.
    assert.ok(said > 0 && said >= played * 0.9, `${said} of ${played} say something`)
  },
)
