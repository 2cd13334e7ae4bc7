/** The AI SDK, unchanged, with each of its providers that can be given a base URL. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, isStepCount, Output, RetryError, streamText, tool } from 'ai'
import type { LanguageModel, LanguageModelUsage } from 'ai'
import { z } from 'zod'

import { assertCharged, replyObligingly, startAgentTestServer } from '../agent-test-server.ts'
import { execute } from '../client-program.ts'
import { readSamples } from '../guide-samples.ts'
import { rejectOnce } from '../server-checks.ts'
import type { ClientTestServer } from '../test-server.ts'
import { families, usage } from '../upstream-scripts.ts'
import type { Family } from '../upstream-scripts.ts'

type CreateModel = (name: string) => LanguageModel

/** The providers as docs/clients/ai-sdk.md creates them. */
const providers: Readonly<Record<string, (url: string, apiKey: string) => CreateModel>> = {
  '@ai-sdk/openai': (url, apiKey) => {
    const sluice = createOpenAI({ baseURL: `${url}/v1`, apiKey })
    return (name) => sluice.chat(name)
  },
  '@ai-sdk/openai (Responses)': (url, apiKey) => createOpenAI({ baseURL: `${url}/v1`, apiKey }),
  '@ai-sdk/openai-compatible': (url, apiKey) =>
    createOpenAICompatible({
      name: 'sluice',
      baseURL: `${url}/v1`,
      apiKey,
      includeUsage: true,
      supportsStructuredOutputs: true,
    }),
  '@ai-sdk/anthropic': (url, apiKey) => createAnthropic({ baseURL: `${url}/v1`, apiKey }),
}

interface Subject {
  readonly provider: string
  readonly family: Family
  readonly context: ClientTestServer
  readonly model: (behavior: string, key?: string) => LanguageModel
}

const tools = {
  weather: tool({
    description: 'The weather in a city.',
    inputSchema: z.object({ city: z.string(), days: z.number().optional() }),
    execute: ({ city }) => `sunny in ${city}`,
  }),
}

const prompt = 'What is the weather in "Paris"?'

/** Asks for reasoning, in each provider's words. */
const providerOptions = {
  anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } },
  sluice: { reasoningEffort: 'low' },
  openai: { store: false, reasoningEffort: 'low', forceReasoning: true },
}

function assertUsage({ inputTokens, outputTokens }: LanguageModelUsage, steps = 1): void {
  const expected = { inputTokens: steps * usage.input, outputTokens: steps * usage.output }
  assert.deepEqual({ inputTokens, outputTokens }, expected)
}

/** The error of a request that must fail, and how often it was sent. */
async function catchError(response: PromiseLike<unknown>): Promise<APICallError> {
  const error: unknown = await response.then(
    () => assert.fail('the request succeeded'),
    (thrown: unknown) => thrown,
  )
  assert.ok(!RetryError.isInstance(error), 'the request was retried')
  assert.ok(APICallError.isInstance(error), String(error))
  return error
}

/** Their formats have an event that ends a stream with an error. */
const hasErrorEvent = new Set(['@ai-sdk/anthropic', '@ai-sdk/openai (Responses)'])

/**
 * Reads a stream that must fail after three words. Callers of chat completions see the connection break after the error,
 * so reading throws; others find the reason in the result, as they do at Anthropic and OpenAI.
 */
async function assertStreamFails(model: LanguageModel, provider: string): Promise<void> {
  const errors: unknown[] = []
  const onError = ({ error }: { readonly error: unknown }): void => void errors.push(error)
  const result = streamText({ model, prompt, maxRetries: 0, onError })
  let text = ''
  const read = async (): Promise<void> => {
    for await (const part of result.stream) if (part.type === 'text-delta') text += part.text
  }
  if (hasErrorEvent.has(provider)) {
    await read()
    assert.equal(await result.finishReason, 'error')
  } else {
    await assert.rejects(read)
    await assert.rejects(async () => await result.text)
  }
  assert.equal(text, ' w1 w2 w3')
  assert.match(String(errors[0]), /The provider ended its response early/)
}

const scenarios: Readonly<Record<string, (subject: Subject) => Promise<void>>> = {
  async 'Text – arrives with its usage'({ model, provider }) {
    // Claude takes only one of these; callers of OpenAI's format do not know.
    const sampling = provider === '@ai-sdk/anthropic' ? {} : { temperature: 0.5, topP: 0.9 }
    const result = await generateText({ model: model('agent'), prompt, ...sampling })
    assert.equal(result.text, 'Hello, world!')
    assertUsage(result.usage)
  },

  async 'Stream – arrives with its usage'({ model }) {
    const result = streamText({ model: model('agent'), prompt })
    assert.equal((await Array.fromAsync(result.textStream)).join(''), 'Hello, world!')
    assertUsage(await result.usage)
  },

  async 'Tools – are called until the model has its response'({ model }) {
    const params = { model: model('agent'), prompt, tools, stopWhen: isStepCount(3) }
    const result = await generateText(params)
    assert.equal(result.text, 'The tool said: sunny in Paris')
    assertUsage(result.usage, 2)
    const stream = streamText(params)
    assert.equal(await stream.text, 'The tool said: sunny in Paris')
    assertUsage(await stream.usage, 2)
  },

  async 'Object – fits its schema'({ model }) {
    const schema = z.object({ city: z.string(), people: z.number() })
    const { output } = await generateText({
      model: model('agent'),
      prompt,
      output: Output.object({ schema }),
    })
    assert.deepEqual(output, { city: 'Paris', people: 3 })
  },

  async 'Reasoning – arrives, and is sent back with the results of tools'({ model, provider }) {
    // This provider reads reasoning from the Responses API only.
    if (provider === '@ai-sdk/openai') return
    const stopWhen = isStepCount(3)
    const params = {
      model: model('thinking'),
      prompt,
      tools,
      stopWhen,
      maxOutputTokens: 2048,
      providerOptions,
    }
    const stream = streamText(params)
    const [first] = await stream.steps
    assert.equal(first?.reasoningText, 'Let me see.')
    assert.equal(await stream.text, 'Sunny in both.')
  },

  async 'References – to earlier items, which the SDK sends by default, are resolved'({
    model,
    provider,
    context,
    family,
  }) {
    if (provider !== '@ai-sdk/openai (Responses)') return
    const stream = streamText({
      model: model('thinking'),
      prompt,
      tools,
      stopWhen: isStepCount(3),
      maxOutputTokens: 2048,
      providerOptions: { openai: { reasoningEffort: 'low', forceReasoning: true } },
      include: { requestBody: true },
    })
    assert.equal(await stream.text, 'Sunny in both.')
    const [, second] = await stream.steps
    assert.match(JSON.stringify(second?.request.body), /"item_reference"/)
    assert.doesNotMatch(context.upstreams[family].requests.at(-1)?.text ?? '', /item_reference/)
  },

  async 'Error – has its status and is not retried'({ model, context }) {
    const { poor, limited } = context
    const expected = [
      ['sk-nobody', 401, /API key/],
      [poor.key.secret, 402, /balance/],
    ] as const
    for (const [key, status, message] of expected) {
      const error = await catchError(generateText({ model: model('agent', key), prompt }))
      assert.deepEqual([error.statusCode, error.isRetryable], [status, false])
      assert.match(error.message, message)
    }
    const error = await catchError(
      generateText({ model: model('agent', limited.key.secret), prompt, maxRetries: 0 }),
    )
    assert.deepEqual([error.statusCode, error.isRetryable], [429, true])
  },

  async 'Rate-limited upstream – is asked again'({ model, context, family }) {
    rejectOnce(context, family, 429)
    const before = context.upstreams[family].requests.length
    const { text } = await generateText({ model: model('plain'), prompt })
    assert.equal(text, 'Hello, world!')
    assert.equal(context.upstreams[family].requests.length - before, 2)
  },

  'Stream with an error – fails after the text before it': ({ model, provider }) =>
    assertStreamFails(model('broken'), provider),

  'Truncated stream – fails after the text before it': ({ model, provider }) =>
    assertStreamFails(model('cut'), provider),
}

// The SDK warns of each model that it does not know.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

describe('AI SDK', () => {
  test('AI SDK – works unchanged', async (t) => {
    const context = await startAgentTestServer(t, replyObligingly)
    await t.test('Samples of the guide – print the response', async () => {
      const folder = fileURLToPath(new URL('.', import.meta.url))
      for (const sample of readSamples('ai-sdk', context.server.url, 'other-agent')) {
        const command = [process.execPath, '--input-type=module', '--eval', sample] as const
        assert.equal(await execute(command, context.rich.key.secret, folder), 'Hello, world!')
      }
    })
    for (const [provider, create] of Object.entries(providers)) {
      for (const family of families) {
        const model: Subject['model'] = (behavior, key = context.rich.key.secret) =>
          create(context.server.url, key)(`${family}-${behavior}`)
        for (const [name, scenario] of Object.entries(scenarios)) {
          await t.test(`${provider}, ${family}: ${name}`, () =>
            scenario({ provider, family, context, model }),
          )
        }
      }
    }
    await assertCharged(context)
  })
})
