/**
 * OpenAI's official client for Node, unchanged except for the base URL and the API key; see client-program.ts. The
 * argument names the package of a generation.
 */
import assert from 'node:assert/strict'

import type OpenAI from 'openai'
import type * as Library from 'openai'
import type * as ZodHelpers from 'openai/helpers/zod'
import { z } from 'zod'

import { readInput, runScenarios } from '../scenario-loop.ts'

const [name = 'openai'] = process.argv.slice(2)
const library = (await import(name)) as typeof Library
const { zodResponseFormat, zodTextFormat } = (await import(`${name}/helpers/zod`)) as typeof ZodHelpers
const { url, rich, poor, limited, toolInputs, image } = await readInput()

type Message = OpenAI.ChatCompletionMessageParam

const hello: Message[] = [{ role: 'user', content: 'Say hello.' }]
const parameters = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } }
const weather = { name: 'weather', description: 'The weather in a city', parameters }
const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: weather }]

let requestCount = 0

function createClient(apiKey = rich, options: object = {}): OpenAI {
  return new library.OpenAI({
    baseURL: `${url}/v1`,
    apiKey,
    fetch(address, init) {
      requestCount += 1
      return fetch(address, init)
    },
    ...options,
  })
}

const client = createClient()
const { completions } = client.chat

async function catchError(response: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  requestCount = 0
  const error: unknown = await response.then(
    () => assert.fail('the request succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof library.APIError, String(error))
  return error
}

/** The results of the calls in a message, after it. */
function answer(message: OpenAI.ChatCompletionMessage | undefined): Message[] {
  assert.ok(message?.tool_calls)
  const results = message.tool_calls.map(({ id }) => {
    return { role: 'tool' as const, tool_call_id: id, content: 'sunny' }
  })
  return [...hello, message, ...results]
}

/** Reads a stream that must raise an error after three words. */
async function assertStreamError(model: string): Promise<void> {
  const stream = await completions.create({ model, messages: hello, stream: true })
  let text = ''
  const read = async () => {
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  }
  await assert.rejects(read, library.APIError)
  assert.equal(text, ' w1 w2 w3')
}

await runScenarios({
  async not_streamed(family) {
    const completion = await completions.create({ model: `${family}-plain`, messages: hello })
    assert.equal(completion.choices[0]?.message.content, 'Hello, world!')
    assert.equal(completion.choices[0]?.finish_reason, 'stop')
    assert.equal(completion.usage?.total_tokens, 1100)
    assert.match(completion._request_id ?? '', /^req_/)
  },

  async base_url(family) {
    Object.assign(process.env, { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: rich })
    for (const { chat } of [createClient(rich, { baseURL: url }), new library.OpenAI()]) {
      const completion = await chat.completions.create({ model: `${family}-plain`, messages: hello })
      assert.equal(completion.choices[0]?.message.content, 'Hello, world!')
    }
  },

  async streamed(family) {
    const stream = await completions.create({ model: `${family}-plain`, messages: hello, stream: true })
    const chunks = await Array.fromAsync(stream)
    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), 'Hello, world!')
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
    assert.ok(chunks.every((chunk) => chunk.choices.length === 1 && !chunk.usage))
  },

  async streamed_with_usage(family) {
    const options = { stream_options: { include_usage: true }, model: `${family}-plain`, messages: hello }
    const chunks = await Array.fromAsync(await completions.create({ ...options, stream: true }))
    const last = chunks.at(-1)
    assert.deepEqual(last?.choices, [])
    assert.equal(last?.usage?.total_tokens, 1100)
    assert.equal(Reflect.get(last?.usage ?? {}, 'cost'), 0.0022)
    assert.ok(chunks.slice(0, -1).every((chunk) => chunk.choices.length === 1 && !chunk.usage))
    assert.equal((await completions.stream(options).totalUsage()).total_tokens, 1100)
  },

  async tools(family) {
    const params = { model: `${family}-tools`, messages: hello, tools, parallel_tool_calls: true }
    const nonStreaming = await completions.create(params)
    const streamed = await completions.stream(params).finalChatCompletion()
    for (const { choices } of [nonStreaming, streamed]) {
      const inputs = (choices[0]?.message.tool_calls ?? []).map((call): unknown =>
        call.type === 'function' ? JSON.parse(call.function.arguments) : call,
      )
      assert.deepEqual(inputs, toolInputs)
      assert.equal(choices[0]?.finish_reason, 'tool_calls')
    }
    const messages = answer(nonStreaming.choices[0]?.message)
    const final = await completions.create({ ...params, messages })
    assert.equal(final.choices[0]?.message.content, 'Sunny in both.')
    const calledWith: unknown[] = []
    const run = (input: object) => void calledWith.push(input)
    const tool = { type: 'function', function: { ...weather, parse: JSON.parse, function: run } } as const
    const runner = completions.runTools({ ...params, tools: [tool] })
    assert.equal(await runner.finalContent(), 'Sunny in both.')
    assert.deepEqual(calledWith, toolInputs)
  },

  async switched_model(family) {
    const other = family === 'claude' ? 'other' : 'claude'
    const { choices } = await completions.create({ model: `${other}-tools`, messages: hello, tools })
    const messages = answer(choices[0]?.message)
    const final = await completions.create({ model: `${family}-tools`, messages, tools })
    assert.equal(final.choices[0]?.message.content, 'Sunny in both.')
  },

  async sampling(family) {
    const fields = { temperature: 0.5, top_p: 0.9, max_completion_tokens: 100, user: 'ann' }
    const completion = await completions.create({ model: `${family}-plain`, messages: hello, ...fields })
    assert.equal(completion.choices[0]?.message.content, 'Hello, world!')
  },

  async images(family) {
    const imageUrl = { url: `data:image/png;base64,${image}`, detail: 'low' as const }
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image_url' as const, image_url: imageUrl },
    ]
    await completions.create({ model: `${family}-plain`, messages: [{ role: 'user', content }] })
  },

  async json_schema(family) {
    const City = z.object({ city: z.string(), people: z.number() })
    const completion = await completions.parse({
      model: `${family}-schema`,
      messages: [{ role: 'developer', content: 'Be exact.' }, ...hello],
      response_format: zodResponseFormat(City, 'city'),
    })
    assert.deepEqual(completion.choices[0]?.message.parsed, { city: 'Paris', people: 2_100_000 })
  },

  async thinking(family) {
    const params = { model: `${family}-thinking`, tools, reasoning_effort: 'low' as const }
    const request = { ...params, max_completion_tokens: 8192 }
    const { choices } = await completions.create({ ...request, messages: hello })
    const messages = answer(choices[0]?.message)
    const final = await completions.create({ ...request, messages })
    assert.equal(final.choices[0]?.message.content, 'Sunny in both.')
  },

  async models(family) {
    const modelIds = (await client.models.list()).data.map((model) => model.id)
    assert.ok(modelIds.includes(`${family}-plain`))
    assert.equal((await client.models.retrieve(`${family}-plain`)).object, 'model')
  },

  async errors(family) {
    const params = { model: `${family}-plain`, messages: hello }
    const unknown = await catchError(createClient('sk-nobody').chat.completions.create(params))
    assert.ok(unknown instanceof library.AuthenticationError)
    assert.equal(unknown.code, 'invalid_api_key')
    assert.match(unknown.requestID ?? '', /^req_/)
    const missing = await catchError(completions.create({ ...params, model: 'nowhere' }))
    assert.ok(missing instanceof library.NotFoundError)
    assert.equal(missing.code, 'model_not_found')
    const invalid = await catchError(completions.create({ ...params, temperature: 3 }))
    assert.ok(invalid instanceof library.BadRequestError)
    assert.equal(invalid.param, 'temperature')
    const unpaid = await catchError(createClient(poor).chat.completions.create(params))
    assert.deepEqual([unpaid.status, unpaid.code, requestCount], [402, 'insufficient_quota', 1])
  },

  async responses(family) {
    const params = { model: `${family}-plain`, input: 'Say hello.' }
    const whole = await client.responses.create(params)
    const streamed = await client.responses.stream(params).finalResponse()
    for (const { output_text: text, status, usage: used } of [whole, streamed]) {
      assert.deepEqual([text, status, used?.total_tokens], ['Hello, world!', 'completed', 1100])
    }
    const City = z.object({ city: z.string(), people: z.number() })
    const format = zodTextFormat(City, 'city')
    const parsed = await client.responses.parse({ ...params, model: `${family}-schema`, text: { format } })
    assert.deepEqual(parsed.output_parsed, { city: 'Paris', people: 2_100_000 })
  },

  async responses_tools(family) {
    const tool: OpenAI.Responses.Tool = { type: 'function', strict: false, ...weather }
    const params = { model: `${family}-thinking`, tools: [tool], reasoning: { effort: 'low' as const } }
    const request = { ...params, max_output_tokens: 8192 }
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Say hello.' }]
    const { output } = await client.responses.stream({ ...request, input }).finalResponse()
    const calls = output.filter((item) => item.type === 'function_call')
    assert.deepEqual(
      calls.map((call): unknown => JSON.parse(call.arguments)),
      toolInputs,
    )
    const results = calls.map(({ call_id: id }) => {
      return { type: 'function_call_output' as const, call_id: id, output: 'sunny' }
    })
    const next = [...input, ...output, ...results] as OpenAI.Responses.ResponseInput
    const final = await client.responses.create({ ...request, input: next })
    assert.equal(final.output_text, 'Sunny in both.')
  },

  async responses_error(family) {
    for (const model of [`${family}-broken`, `${family}-cut`]) {
      const stream = await client.responses.create({ model, input: 'Say hello.', stream: true })
      let text = ''
      const read = async () => {
        for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
      }
      await assert.rejects(read, library.APIError)
      assert.equal(text, ' w1 w2 w3')
    }
  },

  async not_available() {
    const error = await catchError(client.responses.retrieve('resp_1'))
    assert.ok(error instanceof library.NotFoundError)
    assert.deepEqual([error.code, requestCount], ['response_not_found', 1])
  },

  async embeddings() {
    const params = { model: 'text-embedding-3-small', input: ['one', 'two'] }
    const forms = [{}, { encoding_format: 'float' as const }, { dimensions: 3, input: [[1], [2, 3]] }]
    for (const fields of forms) {
      const { data } = await client.embeddings.create({ ...params, ...fields })
      assert.equal(data.map(({ embedding }) => embedding.join()).join(' '), '0.5,-0.5,0.25 0.5,-0.5,0.25')
    }
    const error = await catchError(client.embeddings.create({ ...params, model: 'other-plain' }))
    assert.equal(error.code, 'model_not_found')
  },

  async too_large(family) {
    const content = 'x'.repeat(40 * 2 ** 20)
    const request = completions.create({ model: `${family}-plain`, messages: [{ role: 'user', content }] })
    assert.equal((await catchError(request)).status, 413)
  },

  async not_retried(family) {
    const { chat } = createClient(limited)
    const error = await catchError(chat.completions.create({ model: `${family}-plain`, messages: hello }))
    assert.ok(error instanceof library.RateLimitError)
    assert.equal(error.headers?.get('x-should-retry'), 'false')
    assert.equal(requestCount, 1)
  },

  async retried(family) {
    requestCount = 0
    const completion = await completions.create({ model: `${family}-plain`, messages: hello })
    assert.equal(completion.choices[0]?.message.content, 'Hello, world!')
    assert.equal(requestCount, 2)
  },

  async without_retries(family) {
    const { chat } = createClient(rich, { maxRetries: 0 })
    const error = await catchError(chat.completions.create({ model: `${family}-plain`, messages: hello }))
    assert.ok(error instanceof library.RateLimitError)
    assert.equal(requestCount, 1)
  },

  async disconnect_from_stream(family) {
    const params = { model: `${family}-endless`, messages: hello, max_completion_tokens: 5000 }
    const stream = await completions.create({ ...params, stream: true })
    let read = 0
    for await (const _chunk of stream) if (++read === 20) break
  },

  async timeout_of_silent_request(family) {
    const { chat } = createClient(rich, { timeout: 2000, maxRetries: 0 })
    const request = chat.completions.create({ model: `${family}-mute`, messages: hello })
    assert.ok((await catchError(request)) instanceof library.APIConnectionTimeoutError)
  },

  error_in_stream: (family) => assertStreamError(`${family}-broken`),
  truncated_stream: (family) => assertStreamError(`${family}-cut`),
})
