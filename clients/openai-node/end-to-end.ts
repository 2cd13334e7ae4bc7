/** The official client for Node, unchanged: only the base address and the key are ours. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import OpenAI from 'openai'

import { image, makeBusyOnce, openStage, schema, toolCalls, usage } from '../stage.ts'
import type { Stage } from '../stage.ts'

const hello: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Say hello.' }]

const weatherTool: OpenAI.ChatCompletionTool = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

let calls = 0

function clientOf(stage: Stage, account = stage.rich, path = '/v1'): OpenAI {
  return new OpenAI({
    baseURL: `${stage.house.url}${path}`,
    apiKey: account.key.secret,
    fetch(address, init) {
      calls += 1
      return fetch(address, init)
    },
  })
}

async function refusal(answer: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await answer.then(
    () => assert.fail('the call succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof OpenAI.APIError, String(error))
  return error
}

/** Reads a stream that has to raise, after three words. */
async function raising(client: OpenAI, model: string): Promise<void> {
  const stream = await client.chat.completions.create({ model, messages: hello, stream: true })
  let words = ''
  const reading = async () => {
    for await (const chunk of stream) words += chunk.choices[0]?.delta.content ?? ''
  }
  await assert.rejects(reading, OpenAI.APIError)
  assert.equal(words, ' w1 w2 w3')
}

const stories: Record<string, (client: OpenAI, stage: Stage) => Promise<void>> = {
  async 'a whole answer arrives, and its price leaves the balance'(client, stage) {
    const completion = await client.chat.completions.create({ model: 'plain', messages: hello })

    assert.equal(completion.choices[0]?.message.content, 'Hello, world!')
    assert.equal(completion.choices[0]?.finish_reason, 'stop')
    assert.equal(completion.usage?.total_tokens, usage.input + usage.output)
    assert.ok(completion._request_id)
    assert.equal(Number(await stage.rich.balance()), 9.9978)
  },

  async 'the base address also works without /v1'(_client, stage) {
    const completion = await clientOf(stage, stage.rich, '').chat.completions.create({
      model: 'plain',
      messages: hello,
    })

    assert.equal(completion.choices[0]?.message.content, 'Hello, world!')
  },

  async 'a stream says the same words, without usage where none was asked'(client) {
    const stream = await client.chat.completions.create({ model: 'plain', messages: hello, stream: true })
    const chunks = await Array.fromAsync(stream)

    assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), 'Hello, world!')
    assert.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')
    assert.ok(chunks.every((chunk) => chunk.choices.length === 1 && !chunk.usage))
  },

  async 'a stream tells its usage, and its cost, last where it was asked'(client) {
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

  async 'parallel tool calls arrive whole and streamed, and their results go back'(client, stage) {
    const asked = { model: 'tools', messages: hello, tools: [weatherTool], parallel_tool_calls: true }
    const whole = await client.chat.completions.create(asked)
    const streamed = await client.chat.completions.stream(asked).finalChatCompletion()

    for (const completion of [whole, streamed]) {
      const [choice] = completion.choices
      const told = (choice?.message.tool_calls ?? []).map((call) =>
        call.type === 'function' ? { id: call.id, ...call.function } : call,
      )
      assert.partialDeepStrictEqual(told, toolCalls)
      assert.equal(choice?.finish_reason, 'tool_calls')
    }
    assert.ok(whole.choices[0])
    const results = toolCalls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'sunny' }))
    const messages = [...hello, whole.choices[0].message, ...results]
    await client.chat.completions.create({ model: 'plain', messages, tools: [weatherTool] })
    assert.deepEqual(stage.upstream.requests.at(-1)?.json['messages'], JSON.parse(JSON.stringify(messages)))
    assert.deepEqual(stage.upstream.requests.at(-1)?.json['tools'], [weatherTool])
  },

  async 'an image in a data URL reaches the upstream untouched'(client, stage) {
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

    assert.deepEqual(stage.upstream.requests.at(-1)?.json['messages'], messages)
  },

  async 'a JSON schema and fields of any kind reach the upstream untouched'(client, stage) {
    const format = { type: 'json_schema' as const, json_schema: { name: 'city', strict: true, schema } }
    const extra = {
      seed: 7,
      service_tier: 'flex' as const,
      prompt_cache_key: 'stories',
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
    const sent = stage.upstream.requests.at(-1)?.json ?? {}
    assert.deepEqual(sent['response_format'], format)
    assert.partialDeepStrictEqual(sent, extra)
  },

  async 'the models of a key are listed and told one by one'(client) {
    const listed = (await client.models.list()).data.map((model) => model.id)

    assert.deepEqual(listed.toSorted(), [
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

  async 'every refusal becomes the class that the client has for it'(client, stage) {
    const stranger = new OpenAI({ baseURL: `${stage.house.url}/v1`, apiKey: 'sk-nobody' })
    const ask = { model: 'plain', messages: hello }
    const unknown = await refusal(stranger.chat.completions.create(ask))
    assert.ok(unknown instanceof OpenAI.AuthenticationError)
    assert.equal(unknown.code, 'invalid_api_key')

    const missing = await refusal(client.chat.completions.create({ ...ask, model: 'nowhere' }))
    assert.ok(missing instanceof OpenAI.NotFoundError)
    assert.equal(missing.code, 'model_not_found')

    const wrong = await refusal(client.chat.completions.create({ ...ask, temperature: 3 }))
    assert.ok(wrong instanceof OpenAI.BadRequestError)
    assert.equal(wrong.param, 'temperature')

    calls = 0
    const poor = await refusal(clientOf(stage, stage.poor).chat.completions.create(ask))
    assert.equal(poor.status, 402)
    assert.equal(poor.code, 'insufficient_quota')
    assert.equal(calls, 1)
  },

  async 'a refusal that says not to retry is not retried'(_client, stage) {
    const limited = await refusal(
      clientOf(stage, stage.limited).chat.completions.create({ model: 'plain', messages: hello }),
    )

    assert.ok(limited instanceof OpenAI.RateLimitError)
    assert.equal(limited.headers?.get('x-should-retry'), 'false')
    assert.equal(calls, 1)
  },

  async 'a busy upstream is asked again by the client, which then gets its answer'(client, stage) {
    makeBusyOnce(stage)
    const completion = await client.chat.completions.create({ model: 'busy', messages: hello })

    assert.equal(completion.choices[0]?.message.content, 'Hello again!')
    assert.equal(calls, 2)
  },

  async 'a client that leaves a stream or a silent call ends it upstream within a second'(client, stage) {
    const stream = await client.chat.completions.create({ model: 'endless', messages: hello, stream: true })
    let read = 0
    for await (const _chunk of stream) if (++read === 20) break
    const leftStreamMs = performance.now()
    const left = await stage.patient.sawClose()
    assert.ok((left.abortedAt ?? Infinity) - leftStreamMs < 1000)

    const leaving = new AbortController()
    const silent = client.chat.completions.create(
      { model: 'mute', messages: hello },
      { signal: leaving.signal },
    )
    const outcome = assert.rejects(silent, OpenAI.APIUserAbortError)
    while ((await stage.patient.sawRequest()).json['model'] !== 'mute');
    const leftCallMs = performance.now()
    leaving.abort()
    await outcome
    assert.ok(((await stage.patient.sawClose()).abortedAt ?? Infinity) - leftCallMs < 1000)
  },

  'an error in the middle of a stream is raised after the words before it': (client) =>
    raising(client, 'broken'),

  'a stream that is cut short is raised after the words before it': (client) => raising(client, 'cut'),
}

test('the official client for Node works unchanged', async (t) => {
  const stage = await openStage(t)
  for (const [name, story] of Object.entries(stories)) {
    await t.test(name, async () => {
      calls = 0
      await story(clientOf(stage), stage)
    })
  }
  await stage.house.nothingHeld()
})
