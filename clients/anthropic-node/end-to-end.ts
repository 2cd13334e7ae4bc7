/** Anthropic's official client for Node, unchanged: only the base address and the key are ours. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import Anthropic from '@anthropic-ai/sdk'

import { families, image, makeBusyOnce, openMessagesStage, toolCalls } from '../anthropic-test-server.ts'
import type { Family, MessagesStage } from '../anthropic-test-server.ts'

const hello: Anthropic.MessageParam[] = [{ role: 'user', content: 'Say hello.' }]
const weather: Anthropic.Tool = {
  name: 'weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
}

let calls = 0

function clientOf(stage: MessagesStage, account = stage.rich, path = ''): Anthropic {
  return new Anthropic({
    baseURL: `${stage.house.url}${path}`,
    apiKey: account.key.secret,
    authToken: null,
    fetch(address, init) {
      calls += 1
      return fetch(address, init)
    },
  })
}

interface Scene {
  readonly stage: MessagesStage
  readonly client: Anthropic
  readonly family: Family
  /** A request for one of the family's models. */
  readonly ask: (name: string, fields?: object) => Anthropic.MessageCreateParamsNonStreaming
}

async function refusal(answer: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error: unknown = await answer.then(
    () => assert.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Anthropic.APIError, String(error))
  return error
}

/** Reads a stream that has to raise, after three words. */
async function raising({ client, ask }: Scene, name: string): Promise<void> {
  const stream = client.messages.stream(ask(name))
  let words = ''
  stream.on('text', (text) => (words += text))
  await assert.rejects(stream.finalMessage(), Anthropic.AnthropicError)
  assert.equal(words, ' w1 w2 w3')
}

const stories: Record<string, (scene: Scene) => Promise<void>> = {
  async 'a whole answer arrives, and its price leaves the balance'({ client, stage, ask }) {
    const before = Number(await stage.rich.balance())
    const message = await client.messages.create(ask('plain'))

    assert.deepEqual(
      message.content.map((block) => (block.type === 'text' ? block.text : block)),
      ['Hello, world!'],
    )
    assert.equal(message.stop_reason, 'end_turn')
    assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [1000, 100])
    assert.match(message._request_id ?? '', /^req_/)
    assert.equal((before - Number(await stage.rich.balance())).toFixed(9), '0.002200000')
  },

  async 'the base address works with /v1 and without, and the key as a token too'({ stage, ask }) {
    for (const path of ['/v1', '/']) {
      assert.equal((await clientOf(stage, stage.rich, path).messages.create(ask('plain'))).type, 'message')
    }
    const client = new Anthropic({ baseURL: stage.house.url, apiKey: null, authToken: stage.rich.key.secret })
    assert.equal((await client.messages.create(ask('plain'))).type, 'message')
  },

  async 'a stream says the same message, event by event'({ client, ask }) {
    const whole = await client.messages.create(ask('plain'))
    const events = await Array.fromAsync(await client.messages.create({ ...ask('plain'), stream: true }))
    const kinds = events.map(({ type }) => type).filter((type) => type !== 'content_block_delta')
    assert.deepEqual(kinds, [
      'message_start',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    const message = await client.messages.stream(ask('plain')).finalMessage()
    assert.deepEqual([message.content, message.stop_reason], [whole.content, whole.stop_reason])
    assert.partialDeepStrictEqual(message.usage, { input_tokens: 1000, output_tokens: 100 })
  },

  async 'parallel tool calls arrive whole and streamed, and their results go back'({
    client,
    stage,
    family,
    ask,
  }) {
    const asked = ask('tools', { tools: [weather], tool_choice: { type: 'any' } })
    const whole = await client.messages.create(asked)
    const streamed = await client.messages.stream(asked).finalMessage()
    for (const { content, stop_reason: reason } of [whole, streamed]) {
      assert.partialDeepStrictEqual(
        content,
        toolCalls.map((call) => ({ type: 'tool_use', ...call })),
      )
      assert.equal(reason, 'tool_use')
    }
    const results = toolCalls.map(({ id }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: 'sunny',
    }))
    const messages = [
      ...hello,
      { role: 'assistant', content: streamed.content },
      { role: 'user', content: results },
    ]
    await client.messages.create(ask('plain', { messages, tools: [weather] }))
    const sent = stage.upstreams[family].requests.at(-1)?.json['messages']
    if (family === 'claude') assert.deepEqual(sent, JSON.parse(JSON.stringify(messages)))
    else {
      assert.partialDeepStrictEqual(sent, [
        { role: 'user' },
        { role: 'assistant', tool_calls: toolCalls.map(({ id }) => ({ id, type: 'function' })) },
        ...toolCalls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'sunny' })),
      ])
    }
  },

  async 'thinking arrives with its signature and may be sent back'({ client, ask }) {
    const asked = ask('thinking', { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2048 })
    const { content } = await client.messages.stream(asked).finalMessage()
    assert.deepEqual(
      content.map(({ type }) => type),
      ['thinking', 'text'],
    )
    const [thought] = content
    assert.ok(thought?.type === 'thinking' && thought.thinking === 'Let me see.' && thought.signature !== '')
    const messages = [...hello, { role: 'assistant', content }, ...hello]
    assert.equal((await client.messages.create({ ...asked, messages } as typeof asked)).type, 'message')
  },

  async 'an image and a marked system prompt reach the upstream'({ client, stage, family, ask }) {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: image }
    const content = [
      { type: 'image', source },
      { type: 'text', text: 'What is this?' },
    ]
    const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }]
    await client.messages.create(ask('plain', { system, messages: [{ role: 'user', content }] }))
    const sent = JSON.stringify(stage.upstreams[family].requests.at(-1)?.json)
    assert.ok(sent.includes(image) && sent.includes('Be brief.'))
    assert.equal(sent.includes('cache_control'), family === 'claude')
  },

  async 'betas reach upstreams that know them, and no others'({ client, stage, family, ask }) {
    await client.beta.messages.create({ ...ask('plain'), betas: ['a-beta-2025-01-01'] })
    const beta = stage.upstreams[family].requests.at(-1)?.headers['anthropic-beta']
    assert.equal(beta, family === 'claude' ? 'a-beta-2025-01-01' : undefined)
  },

  async 'tokens are counted'({ client, family, ask }) {
    const { model, messages } = ask('plain')
    const { input_tokens: tokens } = await client.messages.countTokens({ model, messages })
    assert.equal(tokens, family === 'claude' ? 7 : 3)
  },

  async 'models are listed, page by page, and told one by one'({ client, ask }) {
    const ids: string[] = []
    for await (const model of client.models.list({ limit: 3 })) ids.push(model.id)
    assert.equal(ids.length, 14)
    assert.equal(new Set(ids).size, 14)
    const { model } = ask('plain')
    assert.equal((await client.models.retrieve(String(model))).display_name, model)
  },

  async 'every refusal becomes the class that the client has for it, and is retried only where that helps'({
    client,
    stage,
    ask,
  }) {
    const stranger = new Anthropic({ baseURL: stage.house.url, apiKey: 'sk-nobody', authToken: null })
    assert.ok(
      (await refusal(stranger.messages.create(ask('plain')))) instanceof Anthropic.AuthenticationError,
    )
    assert.ok((await refusal(client.messages.create(ask('nowhere')))) instanceof Anthropic.NotFoundError)
    const wrong = await refusal(client.messages.create(ask('plain', { max_tokens: 0 })))
    assert.ok(wrong instanceof Anthropic.BadRequestError)
    assert.match(wrong.message, /max_tokens/)
    assert.match(wrong.requestID ?? '', /^req_/)

    calls = 0
    const poor = await refusal(clientOf(stage, stage.poor).messages.create(ask('plain')))
    assert.deepEqual([poor.status, poor.type, calls], [402, 'billing_error', 1])
    calls = 0
    const limited = await refusal(clientOf(stage, stage.limited).messages.create(ask('plain')))
    assert.ok(limited instanceof Anthropic.RateLimitError)
    assert.equal(calls, 1)
  },

  async 'a busy upstream is asked again by the client, which then gets its answer'({
    client,
    stage,
    family,
    ask,
  }) {
    makeBusyOnce(stage, family)
    calls = 0
    assert.equal((await client.messages.create(ask('plain'))).type, 'message')
    assert.equal(calls, 2)
  },

  async 'a client that leaves a stream or a silent call ends it upstream within a second'({
    client,
    stage,
    family,
    ask,
  }) {
    const upstream = stage.upstreams[family]
    const stream = await client.messages.create({ ...ask('endless'), stream: true })
    let read = 0
    for await (const _event of stream) if (++read === 20) break
    const leftStreamMs = performance.now()
    assert.ok(((await upstream.sawClose()).abortedAt ?? Infinity) - leftStreamMs < 1000)

    const leaving = new AbortController()
    const silent = client.messages.create(ask('mute'), { signal: leaving.signal })
    const outcome = assert.rejects(silent, Anthropic.APIUserAbortError)
    while ((await upstream.sawRequest()).json['model'] !== `${family}-mute`);
    const leftCallMs = performance.now()
    leaving.abort()
    await outcome
    assert.ok(((await upstream.sawClose()).abortedAt ?? Infinity) - leftCallMs < 1000)
  },

  'an error in the middle of a stream is raised after the words before it': (scene) =>
    raising(scene, 'broken'),

  'a stream that is cut short is raised after the words before it': (scene) => raising(scene, 'cut'),
}

test('Anthropic’s official client for Node works unchanged', async (t) => {
  const stage = await openMessagesStage(t)
  for (const family of families) {
    const ask: Scene['ask'] = (name, fields = {}) => {
      return { model: `${family}-${name}`, max_tokens: 256, messages: hello, ...fields }
    }
    for (const [name, story] of Object.entries(stories)) {
      await t.test(`${family}: ${name}`, () => story({ stage, family, ask, client: clientOf(stage) }))
    }
  }
  await stage.house.nothingHeld()
})
