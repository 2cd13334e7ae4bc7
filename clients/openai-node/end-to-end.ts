/** OpenAI's official client for Node, unchanged except for the base URL and the API key. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import OpenAI from 'openai'

import {
  image,
  maxDisconnectMs,
  rateLimitOnce,
  startClientTestServer,
  schema,
  toolCalls,
  usage,
} from '../test-server.ts'
import type { ClientTestServer } from '../test-server.ts'

const hello: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Say hello.' }]

const weatherTool: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

let requestCount = 0

function createClient(context: ClientTestServer, account = context.rich, path = '/v1'): OpenAI {
  return new OpenAI({
    baseURL: `${context.server.url}${path}`,
    apiKey: account.key.secret,
    fetch(address, init) {
      requestCount += 1
      return fetch(address, init)
    },
  })
}

async function catchError(response: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await response.then(
    () => assert.fail('the request succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof OpenAI.APIError, String(error))
  return error
}

/** Reads a stream that must raise an error after three words. */
async function assertStreamError(client: OpenAI, model: string): Promise<void> {
  const stream = await client.chat.completions.create({ model, messages: hello, stream: true })
  let text = ''
  const read = async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  }
  await assert.rejects(read, OpenAI.APIError)
  assert.equal(text, ' w1 w2 w3')
}

const scenarios: Record<string, (client: OpenAI, context: ClientTestServer) => Promise<void>> = {
  async 'Completion – arrives, and its cost is taken from the balance'(client, context) {
    const completion = await client.chat.completions.create({ model: 'plain', messages: hello })

    assert.equal(completion.choices[0]?.message.content, 'Hello, world!')
    assert.equal(completion.choices[0]?.finish_reason, 'stop')
    assert.equal(completion.usage?.total_tokens, usage.input + usage.output)
    assert.ok(completion._request_id)
    assert.equal(Number(await context.rich.balance()), 9.9978)
  },

  async 'Base URL – also works without /v1'(_client, context) {
    const completion = await createClient(context, context.rich, '').chat.completions.create({
      model: 'plain',
      messages: hello,
    })

    assert.equal(completion.choices[0]?.message.content, 'Hello, world!')
  },

  async 'Stream – has the same text, and no usage unless requested'(client) {
    const stream = await client.chat.completions.create({ model: 'plain', messages: hello, stream: true })
    const chunks = await Array.fromAsync(stream)

    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), 'Hello, world!')
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
    assert.ok(chunks.every((chunk) => chunk.choices.length === 1 && !chunk.usage))
  },

  async 'Stream with usage – ends with usage and cost'(client) {
    const chunks = await Array.fromAsync(
      await client.chat.completions.create({
        model: 'plain',
        messages: hello,
        stream: true,
        stream_options: { include_usage: true },
      }),
    )

    const last = chunks.at(-1)
    assert.deepEqual(last?.choices, [])
    assert.equal(last?.usage?.total_tokens, usage.input + usage.output)
    assert.equal(Reflect.get(last?.usage ?? {}, 'cost'), 0.0022)
    assert.ok(chunks.slice(0, -1).every((chunk) => chunk.choices.length === 1 && !chunk.usage))
  },

  async 'Parallel tool calls – arrive, streaming or not, and their results go back'(client, context) {
    const params = { model: 'tools', messages: hello, tools: [weatherTool], parallel_tool_calls: true }
    const nonStreaming = await client.chat.completions.create(params)
    const streamed = await client.chat.completions.stream(params).finalChatCompletion()

    for (const completion of [nonStreaming, streamed]) {
      const [choice] = completion.choices
      const returnedCalls = (choice?.message.tool_calls ?? []).map((call) =>
        call.type === 'function' ? { id: call.id, ...call.function } : call,
      )
      assert.partialDeepStrictEqual(returnedCalls, toolCalls)
      assert.equal(choice?.finish_reason, 'tool_calls')
    }
    assert.ok(nonStreaming.choices[0])
    const results = toolCalls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'sunny' }))
    const messages = [...hello, nonStreaming.choices[0].message, ...results]
    await client.chat.completions.create({ model: 'plain', messages, tools: [weatherTool] })
    assert.deepEqual(context.upstream.requests.at(-1)?.json['messages'], JSON.parse(JSON.stringify(messages)))
    assert.deepEqual(context.upstream.requests.at(-1)?.json['tools'], [weatherTool])
  },

  async 'Image in a data URL – reaches the upstream unchanged'(client, context) {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is this?' },
          { type: 'image_url', image_url: { url: image, detail: 'low' } },
        ],
      },
    ]
    await client.chat.completions.create({ model: 'plain', messages })

    assert.deepEqual(context.upstream.requests.at(-1)?.json['messages'], messages)
  },

  async 'JSON schema and unknown fields – reach the upstream unchanged'(client, context) {
    const format = { type: 'json_schema' as const, json_schema: { name: 'city', strict: true, schema } }
    const extra = {
      seed: 7,
      service_tier: 'flex' as const,
      prompt_cache_key: 'scenarios',
      top_logprobs: 2,
      logprobs: true,
    }
    const completion = await client.chat.completions.create({
      model: 'schema',
      messages: [{ role: 'developer', content: 'Be exact.' }, ...hello],
      response_format: format,
      ...extra,
    })

    assert.deepEqual(JSON.parse(completion.choices[0]?.message.content ?? ''), {
      city: 'Paris',
      people: 2_100_000,
    })
    const sent = context.upstream.requests.at(-1)?.json ?? {}
    assert.deepEqual(sent['response_format'], format)
    assert.partialDeepStrictEqual(sent, extra)
  },

  async 'Models of a key – are listed and retrieved'(client) {
    const modelIds = (await client.models.list()).data.map((model) => model.id)

    assert.deepEqual(modelIds.toSorted(), [
      'broken',
      'busy',
      'cut',
      'endless',
      'mute',
      'plain',
      'schema',
      'tools',
    ])
    assert.equal((await client.models.retrieve('plain')).object, 'model')
  },

  async 'Errors – become the error classes of the client'(client, context) {
    const unauthenticated = new OpenAI({ baseURL: `${context.server.url}/v1`, apiKey: 'sk-nobody' })
    const params = { model: 'plain', messages: hello }
    const unknown = await catchError(unauthenticated.chat.completions.create(params))
    assert.ok(unknown instanceof OpenAI.AuthenticationError)
    assert.equal(unknown.code, 'invalid_api_key')

    const missing = await catchError(client.chat.completions.create({ ...params, model: 'nowhere' }))
    assert.ok(missing instanceof OpenAI.NotFoundError)
    assert.equal(missing.code, 'model_not_found')

    const invalid = await catchError(client.chat.completions.create({ ...params, temperature: 3 }))
    assert.ok(invalid instanceof OpenAI.BadRequestError)
    assert.equal(invalid.param, 'temperature')

    requestCount = 0
    const poor = await catchError(createClient(context, context.poor).chat.completions.create(params))
    assert.equal(poor.status, 402)
    assert.equal(poor.code, 'insufficient_quota')
    assert.equal(requestCount, 1)
  },

  async 'Error with x-should-retry false – is not retried'(_client, context) {
    const limited = await catchError(
      createClient(context, context.limited).chat.completions.create({ model: 'plain', messages: hello }),
    )

    assert.ok(limited instanceof OpenAI.RateLimitError)
    assert.equal(limited.headers?.get('x-should-retry'), 'false')
    assert.equal(requestCount, 1)
  },

  async 'Rate-limited upstream – the client retries and gets a response'(client, context) {
    rateLimitOnce(context)
    const completion = await client.chat.completions.create({ model: 'busy', messages: hello })

    assert.equal(completion.choices[0]?.message.content, 'Hello again!')
    assert.equal(requestCount, 2)
  },

  async 'Disconnect from a stream or a silent request – closes the upstream within a second'(
    client,
    context,
  ) {
    const stream = await client.chat.completions.create({ model: 'endless', messages: hello, stream: true })
    let read = 0
    for await (const _chunk of stream) if (++read === 20) break
    const leftStreamMs = performance.now()
    const disconnected = await context.hanging.nextDisconnect()
    assert.ok((disconnected.abortedAt ?? Infinity) - leftStreamMs < maxDisconnectMs)

    const disconnect = new AbortController()
    const pending = client.chat.completions.create(
      { model: 'mute', messages: hello },
      { signal: disconnect.signal },
    )
    const outcome = assert.rejects(pending, OpenAI.APIUserAbortError)
    while ((await context.hanging.nextRequest()).json['model'] !== 'mute');
    const leftCallMs = performance.now()
    disconnect.abort()
    await outcome
    assert.ok(((await context.hanging.nextDisconnect()).abortedAt ?? Infinity) - leftCallMs < maxDisconnectMs)
  },

  'Error within a stream – is raised after the text before it': (client) =>
    assertStreamError(client, 'broken'),

  'Truncated stream – is raised as an error after the text before it': (client) =>
    assertStreamError(client, 'cut'),
}

describe('OpenAI client for Node', () => {
  test('OpenAI client for Node – works unchanged', async (t) => {
    const context = await startClientTestServer(t)
    for (const [name, scenario] of Object.entries(scenarios)) {
      await t.test(name, async () => {
        requestCount = 0
        await scenario(createClient(context), context)
      })
    }
    await context.server.assertNoOpenHolds()
  })
})
