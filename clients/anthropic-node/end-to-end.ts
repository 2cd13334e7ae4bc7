/**
 * Anthropic's official client for Node, unchanged except for the base URL and the API key; see client-program.ts. The
 * argument names the package of a generation.
 */
import assert from 'node:assert/strict'

import type Anthropic from '@anthropic-ai/sdk'
import type * as Library from '@anthropic-ai/sdk'
import type * as ToolHelpers from '@anthropic-ai/sdk/helpers/beta/json-schema'
import type * as SchemaHelpers from '@anthropic-ai/sdk/helpers/json-schema'

import { readInput, runScenarios } from '../scenario-loop.ts'

const [name = '@anthropic-ai/sdk'] = process.argv.slice(2)
const library = (await import(name)) as typeof Library
const { jsonSchemaOutputFormat } = (await import(`${name}/helpers/json-schema`)) as typeof SchemaHelpers
const { betaTool } = (await import(`${name}/helpers/beta/json-schema`)) as typeof ToolHelpers
const { url, rich, poor, limited, toolInputs, image } = await readInput()

const hello: Anthropic.MessageParam[] = [{ role: 'user', content: 'Say hello.' }]
const properties = { city: { type: 'string' }, days: { type: 'integer' } } as const
const schema = { type: 'object', properties } as const
const weather: Anthropic.Tool = { name: 'weather', description: 'The weather', input_schema: schema }

let requestCount = 0

function createClient(apiKey = rich, options: object = {}): Anthropic {
  return new library.Anthropic({
    baseURL: url,
    apiKey,
    authToken: null,
    fetch(address, init) {
      requestCount += 1
      return fetch(address, init)
    },
    ...options,
  })
}

const client = createClient()
const { messages } = client

/** A request for a model. */
function params(model: string, fields: object = {}): Anthropic.MessageCreateParamsNonStreaming {
  return { model, max_tokens: 256, messages: hello, ...fields }
}

async function catchError(response: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  requestCount = 0
  const error: unknown = await response.then(
    () => assert.fail('the request succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof library.APIError, String(error))
  return error
}

function textOf({ content }: { readonly content: readonly object[] }): unknown {
  return content.map((block) => Reflect.get(block, 'text') as unknown).join('')
}

/** The results of the calls in a message, after it. */
function answer({ content }: Anthropic.Message): Anthropic.MessageParam[] {
  const results = content.flatMap((block) =>
    block.type === 'tool_use'
      ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'sunny' }]
      : [],
  )
  return [...hello, { role: 'assistant', content }, { role: 'user', content: results }]
}

/** Reads a stream that must raise an error after three words. */
async function assertStreamError(model: string): Promise<void> {
  const stream = messages.stream(params(model))
  let text = ''
  stream.on('text', (part) => (text += part))
  await assert.rejects(stream.finalMessage(), library.AnthropicError)
  assert.equal(text, ' w1 w2 w3')
}

await runScenarios({
  async not_streamed(family) {
    const message = await messages.create(params(`${family}-plain`))
    assert.equal(textOf(message), 'Hello, world!')
    assert.equal(message.stop_reason, 'end_turn')
    assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [1000, 100])
    assert.match(message._request_id ?? '', /^req_/)
  },

  async authentication(family) {
    for (const path of ['/v1', '/']) {
      const caller = createClient(rich, { baseURL: `${url}${path}` })
      assert.equal(textOf(await caller.messages.create(params(`${family}-plain`))), 'Hello, world!')
    }
    Object.assign(process.env, { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: rich })
    for (const caller of [new library.Anthropic(), createClient(rich, { apiKey: null, authToken: rich })])
      assert.equal(textOf(await caller.messages.create(params(`${family}-plain`))), 'Hello, world!')
  },

  async streamed(family) {
    const nonStreaming = await messages.create(params(`${family}-plain`))
    const events = await Array.fromAsync(
      await messages.create({ ...params(`${family}-plain`), stream: true }),
    )
    const kinds = events.map(({ type }) => type).filter((type) => type !== 'content_block_delta')
    const block = ['content_block_start', 'content_block_stop']
    assert.deepEqual(kinds, ['message_start', ...block, 'message_delta', 'message_stop'])
    const message = await messages.stream(params(`${family}-plain`)).finalMessage()
    assert.deepEqual([message.content, message.stop_reason], [nonStreaming.content, nonStreaming.stop_reason])
    assert.partialDeepStrictEqual(message.usage, { input_tokens: 1000, output_tokens: 100 })
  },

  async tools(family) {
    const request = params(`${family}-tools`, { tools: [weather], tool_choice: { type: 'any' } })
    const nonStreaming = await messages.create(request)
    const streamed = await messages.stream(request).finalMessage()
    for (const { content, stop_reason: reason } of [nonStreaming, streamed]) {
      assert.partialDeepStrictEqual(
        content,
        toolInputs.map((input) => ({ type: 'tool_use', name: 'weather', input })),
      )
      assert.equal(reason, 'tool_use')
    }
    assert.equal(textOf(await messages.create({ ...request, messages: answer(streamed) })), 'Sunny in both.')
  },

  async switched_model(family) {
    const other = family === 'claude' ? 'other' : 'claude'
    const called = await messages.create(params(`${other}-tools`, { tools: [weather] }))
    const request = params(`${family}-tools`, { tools: [weather], messages: answer(called) })
    assert.equal(textOf(await messages.create(request)), 'Sunny in both.')
  },

  async tool_runner(family) {
    const calledWith: unknown[] = []
    const run = (input: unknown): string => `sunny on ${calledWith.push(input)} days`
    const tool = betaTool({ name: 'weather', description: 'The weather', inputSchema: schema, run })
    const request = { model: `${family}-tools`, max_tokens: 256, messages: hello, tools: [tool] }
    for (const stream of [false, true]) {
      const runner = client.beta.messages.toolRunner({ ...request, stream })
      assert.equal(textOf(await runner.runUntilDone()), 'Sunny in both.')
    }
    assert.deepEqual(calledWith, [...toolInputs, ...toolInputs])
  },

  async thread(family) {
    const thread = client.beta.messages.thread({ model: `${family}-plain`, max_tokens: 256 })
    const error = await catchError(thread.send({ role: 'user', content: 'Say hello.' }))
    assert.ok(error instanceof library.Anthropic.Messages.ThreadUnsupportedRequestError)
  },

  async long_tool_name(family) {
    const long = 'mcp__'.padEnd(128, 'weather_')
    const request = params(`${family}-tools`, { tools: [{ ...weather, name: long }] })
    const called = await messages.stream(request).finalMessage()
    assert.partialDeepStrictEqual(called.content, [{ name: long }, { name: long }])
    assert.equal(textOf(await messages.create({ ...request, messages: answer(called) })), 'Sunny in both.')
  },

  async json_schema(family) {
    const city = { city: { type: 'string' }, people: { type: 'integer' } } as const
    const format = jsonSchemaOutputFormat({
      type: 'object',
      properties: city,
      required: ['city', 'people'],
      additionalProperties: false,
    })
    const message = await messages.parse(params(`${family}-schema`, { output_config: { format } }))
    assert.deepEqual(message.parsed_output, { city: 'Paris', people: 2_100_000 })
  },

  async sampling(family) {
    const fields = { temperature: 0.5, top_p: 0.9, top_k: 5, metadata: { user_id: 'ann' } }
    assert.equal(textOf(await messages.create(params(`${family}-plain`, fields))), 'Hello, world!')
  },

  async thinking(family) {
    const fields = { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2048, tools: [weather] }
    const request = params(`${family}-thinking`, fields)
    const message = await messages.stream(request).finalMessage()
    assert.partialDeepStrictEqual(message.content, [{ type: 'thinking', thinking: 'Let me see.' }])
    assert.notEqual(Reflect.get(message.content[0] ?? {}, 'signature'), '')
    assert.equal(textOf(await messages.create({ ...request, messages: answer(message) })), 'Sunny in both.')
  },

  async images(family) {
    const source = { type: 'base64', media_type: 'image/png', data: image }
    const content = [
      { type: 'image', source },
      { type: 'text', text: 'What is this?' },
    ]
    const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }]
    await messages.create(params(`${family}-plain`, { system, messages: [{ role: 'user', content }] }))
  },

  async betas(family) {
    await client.beta.messages.create({ ...params(`${family}-plain`), betas: ['a-beta-2025-01-01'] })
  },

  async token_counting(family) {
    const { input_tokens: tokens } = await messages.countTokens({ model: `${family}-plain`, messages: hello })
    assert.equal(tokens, family === 'claude' ? 7 : 3)
  },

  async models(family) {
    const ids: string[] = []
    for await (const model of client.models.list({ limit: 3 })) ids.push(model.id)
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(ids.includes(`${family}-plain`))
    assert.equal((await client.models.retrieve(`${family}-plain`)).display_name, `${family}-plain`)
  },

  async errors(family) {
    const request = params(`${family}-plain`)
    const unknown = await catchError(createClient('sk-nobody').messages.create(request))
    assert.ok(unknown instanceof library.AuthenticationError)
    const missing = await catchError(messages.create({ ...request, model: 'nowhere' }))
    assert.ok(missing instanceof library.NotFoundError)
    const invalid = await catchError(messages.create({ ...request, max_tokens: 0 }))
    assert.ok(invalid instanceof library.BadRequestError)
    assert.match(invalid.message, /max_tokens/)
    assert.match(invalid.requestID ?? '', /^req_/)
    const unpaid = await catchError(createClient(poor).messages.create(request))
    assert.deepEqual([unpaid.status, unpaid.type, requestCount], [402, 'billing_error', 1])
    const tooMany = await catchError(createClient(limited).messages.create(request))
    assert.ok(tooMany instanceof library.RateLimitError)
    assert.equal(requestCount, 1)
  },

  async typed_error(family) {
    const error = await catchError(messages.create(params(`${family}-plain`)))
    assert.ok(error instanceof library.Anthropic.Messages.ImageDimensionsTooLargeError)
    assert.equal(error.details.max_side_length_pixels, 8000)
  },

  async not_available() {
    const error = await catchError(messages.batches.create({ requests: [] }))
    assert.ok(error instanceof library.NotFoundError)
    assert.equal(requestCount, 1)
  },

  async too_large(family) {
    const content = 'x'.repeat(40 * 2 ** 20)
    const error = await catchError(
      messages.create(params(`${family}-plain`, { messages: [{ role: 'user', content }] })),
    )
    assert.deepEqual([error.status, error.type], [413, 'request_too_large'])
  },

  async retried(family) {
    requestCount = 0
    assert.equal(textOf(await messages.create(params(`${family}-plain`))), 'Hello, world!')
    assert.equal(requestCount, 2)
  },

  async without_retries(family) {
    const caller = createClient(rich, { maxRetries: 0 })
    const error = await catchError(caller.messages.create(params(`${family}-plain`)))
    assert.ok(error instanceof library.RateLimitError)
    assert.equal(requestCount, 1)
  },

  async disconnect_from_stream(family) {
    const request = params(`${family}-endless`, { max_tokens: 5000 })
    const stream = await messages.create({ ...request, stream: true })
    let read = 0
    for await (const _event of stream) if (++read === 20) break
  },

  async timeout_of_silent_request(family) {
    const caller = createClient(rich, { timeout: 2000, maxRetries: 0 })
    const error = await catchError(caller.messages.create(params(`${family}-mute`)))
    assert.ok(error instanceof library.APIConnectionTimeoutError)
  },

  error_in_stream: (family) => assertStreamError(`${family}-broken`),
  truncated_stream: (family) => assertStreamError(`${family}-cut`),
})
