/** Anthropic's official client for Node, unchanged except for the base URL and the API key. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import Anthropic from '@anthropic-ai/sdk'

import {
  families,
  image,
  rateLimitOnce,
  startMessagesTestServer,
  toolCalls,
} from '../anthropic-test-server.ts'
import type { Family, MessagesTestServer } from '../anthropic-test-server.ts'
import { maxDisconnectMs } from '../test-server.ts'

const hello: Anthropic.MessageParam[] = [{ role: 'user', content: 'Say hello.' }]
const weather: Anthropic.Tool = {
  name: 'weather',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
}

let requestCount = 0

function createClient(context: MessagesTestServer, account = context.rich, path = ''): Anthropic {
  return new Anthropic({
    baseURL: `${context.server.url}${path}`,
    apiKey: account.key.secret,
    authToken: null,
    fetch(address, init) {
      requestCount += 1
      return fetch(address, init)
    },
  })
}

interface ScenarioContext {
  readonly context: MessagesTestServer
  readonly client: Anthropic
  readonly family: Family
  /** A request for one of the family's models. */
  readonly params: (name: string, fields?: object) => Anthropic.MessageCreateParamsNonStreaming
}

async function catchError(response: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error: unknown = await response.then(
    () => assert.fail('the request succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Anthropic.APIError, String(error))
  return error
}

/** Reads a stream that must raise an error after three words. */
async function assertStreamError({ client, params }: ScenarioContext, name: string): Promise<void> {
  const stream = client.messages.stream(params(name))
  let text = ''
  stream.on('text', (part) => (text += part))
  await assert.rejects(stream.finalMessage(), Anthropic.AnthropicError)
  assert.equal(text, ' w1 w2 w3')
}

const scenarios: Record<string, (scenario: ScenarioContext) => Promise<void>> = {
  async 'Completion – arrives, and its cost is taken from the balance'({ client, context, params }) {
    const before = Number(await context.rich.balance())
    const message = await client.messages.create(params('plain'))

    assert.deepEqual(
      message.content.map((block) => (block.type === 'text' ? block.text : block)),
      ['Hello, world!'],
    )
    assert.equal(message.stop_reason, 'end_turn')
    assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [1000, 100])
    assert.match(message._request_id ?? '', /^req_/)
    assert.equal((before - Number(await context.rich.balance())).toFixed(9), '0.002200000')
  },

  async 'Base URL and authentication – work with and without /v1, with key or token'({ context, params }) {
    for (const path of ['/v1', '/']) {
      assert.equal(
        (await createClient(context, context.rich, path).messages.create(params('plain'))).type,
        'message',
      )
    }
    const client = new Anthropic({
      baseURL: context.server.url,
      apiKey: null,
      authToken: context.rich.key.secret,
    })
    assert.equal((await client.messages.create(params('plain'))).type, 'message')
  },

  async 'Stream – has the same message, event by event'({ client, params }) {
    const nonStreaming = await client.messages.create(params('plain'))
    const events = await Array.fromAsync(await client.messages.create({ ...params('plain'), stream: true }))
    const kinds = events.map(({ type }) => type).filter((type) => type !== 'content_block_delta')
    assert.deepEqual(kinds, [
      'message_start',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    const message = await client.messages.stream(params('plain')).finalMessage()
    assert.deepEqual([message.content, message.stop_reason], [nonStreaming.content, nonStreaming.stop_reason])
    assert.partialDeepStrictEqual(message.usage, { input_tokens: 1000, output_tokens: 100 })
  },

  async 'Parallel tool calls – arrive, streaming or not, and their results go back'({
    client,
    context,
    family,
    params,
  }) {
    const request = params('tools', { tools: [weather], tool_choice: { type: 'any' } })
    const nonStreaming = await client.messages.create(request)
    const streamed = await client.messages.stream(request).finalMessage()
    for (const { content, stop_reason: reason } of [nonStreaming, streamed]) {
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
    await client.messages.create(params('plain', { messages, tools: [weather] }))
    const sent = context.upstreams[family].requests.at(-1)?.json['messages']
    if (family === 'claude') assert.deepEqual(sent, JSON.parse(JSON.stringify(messages)))
    else {
      assert.partialDeepStrictEqual(sent, [
        { role: 'user' },
        { role: 'assistant', tool_calls: toolCalls.map(({ id }) => ({ id, type: 'function' })) },
        ...toolCalls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'sunny' })),
      ])
    }
  },

  async 'Thinking – arrives with its signature and can be sent back'({ client, params }) {
    const request = params('thinking', {
      thinking: { type: 'enabled', budget_tokens: 1024 },
      max_tokens: 2048,
    })
    const { content } = await client.messages.stream(request).finalMessage()
    assert.deepEqual(
      content.map(({ type }) => type),
      ['thinking', 'text'],
    )
    const [thought] = content
    assert.ok(thought?.type === 'thinking' && thought.thinking === 'Let me see.' && thought.signature !== '')
    const messages = [...hello, { role: 'assistant', content }, ...hello]
    assert.equal((await client.messages.create({ ...request, messages } as typeof request)).type, 'message')
  },

  async 'Image and cached system prompt – reach the upstream'({ client, context, family, params }) {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: image }
    const content = [
      { type: 'image', source },
      { type: 'text', text: 'What is this?' },
    ]
    const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }]
    await client.messages.create(params('plain', { system, messages: [{ role: 'user', content }] }))
    const sent = JSON.stringify(context.upstreams[family].requests.at(-1)?.json)
    assert.ok(sent.includes(image) && sent.includes('Be brief.'))
    assert.equal(sent.includes('cache_control'), family === 'claude')
  },

  async 'Beta headers – reach only upstreams that support them'({ client, context, family, params }) {
    await client.beta.messages.create({ ...params('plain'), betas: ['a-beta-2025-01-01'] })
    const beta = context.upstreams[family].requests.at(-1)?.headers['anthropic-beta']
    assert.equal(beta, family === 'claude' ? 'a-beta-2025-01-01' : undefined)
  },

  async 'Token counting – returns the input tokens'({ client, family, params }) {
    const { model, messages } = params('plain')
    const { input_tokens: tokens } = await client.messages.countTokens({ model, messages })
    assert.equal(tokens, family === 'claude' ? 7 : 3)
  },

  async 'Models – are listed page by page and retrieved'({ client, params }) {
    const ids: string[] = []
    for await (const model of client.models.list({ limit: 3 })) ids.push(model.id)
    assert.equal(ids.length, 14)
    assert.equal(new Set(ids).size, 14)
    const { model } = params('plain')
    assert.equal((await client.models.retrieve(String(model))).display_name, model)
  },

  async 'Errors – become the error classes of the client and are retried only if useful'({
    client,
    context,
    params,
  }) {
    const unauthenticated = new Anthropic({
      baseURL: context.server.url,
      apiKey: 'sk-nobody',
      authToken: null,
    })
    assert.ok(
      (await catchError(unauthenticated.messages.create(params('plain')))) instanceof
        Anthropic.AuthenticationError,
    )
    assert.ok(
      (await catchError(client.messages.create(params('nowhere')))) instanceof Anthropic.NotFoundError,
    )
    const invalid = await catchError(client.messages.create(params('plain', { max_tokens: 0 })))
    assert.ok(invalid instanceof Anthropic.BadRequestError)
    assert.match(invalid.message, /max_tokens/)
    assert.match(invalid.requestID ?? '', /^req_/)

    requestCount = 0
    const poor = await catchError(createClient(context, context.poor).messages.create(params('plain')))
    assert.deepEqual([poor.status, poor.type, requestCount], [402, 'billing_error', 1])
    requestCount = 0
    const limited = await catchError(createClient(context, context.limited).messages.create(params('plain')))
    assert.ok(limited instanceof Anthropic.RateLimitError)
    assert.equal(requestCount, 1)
  },

  async 'Rate-limited upstream – the client retries and gets a response'({
    client,
    context,
    family,
    params,
  }) {
    rateLimitOnce(context, family)
    requestCount = 0
    assert.equal((await client.messages.create(params('plain'))).type, 'message')
    assert.equal(requestCount, 2)
  },

  async 'Disconnect from a stream or a silent request – closes the upstream within a second'({
    client,
    context,
    family,
    params,
  }) {
    const upstream = context.upstreams[family]
    const stream = await client.messages.create({ ...params('endless'), stream: true })
    let read = 0
    for await (const _event of stream) if (++read === 20) break
    const leftStreamMs = performance.now()
    assert.ok(((await upstream.nextDisconnect()).abortedAt ?? Infinity) - leftStreamMs < maxDisconnectMs)

    const disconnect = new AbortController()
    const pending = client.messages.create(params('mute'), { signal: disconnect.signal })
    const outcome = assert.rejects(pending, Anthropic.APIUserAbortError)
    while ((await upstream.nextRequest()).json['model'] !== `${family}-mute`);
    const leftCallMs = performance.now()
    disconnect.abort()
    await outcome
    assert.ok(((await upstream.nextDisconnect()).abortedAt ?? Infinity) - leftCallMs < maxDisconnectMs)
  },

  'Error within a stream – is raised after the text before it': (scenario) =>
    assertStreamError(scenario, 'broken'),

  'Truncated stream – is raised as an error after the text before it': (scenario) =>
    assertStreamError(scenario, 'cut'),
}

describe('Anthropic client for Node', () => {
  test('Anthropic client for Node – works unchanged', async (t) => {
    const context = await startMessagesTestServer(t)
    for (const family of families) {
      const params: ScenarioContext['params'] = (name, fields = {}) => {
        return { model: `${family}-${name}`, max_tokens: 256, messages: hello, ...fields }
      }
      for (const [name, scenario] of Object.entries(scenarios)) {
        await t.test(`${family}: ${name}`, () =>
          scenario({ context, family, params, client: createClient(context) }),
        )
      }
    }
    await context.server.assertNoOpenHolds()
  })
})
