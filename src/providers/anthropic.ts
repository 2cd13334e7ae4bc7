/**
 * Anthropic's own format: `POST {base}/messages` with the key as `x-api-key`; the address ends with its version,
 * `https://api.anthropic.com/v1`. The request is in anthropic-request.ts, the answer in anthropic-answer.ts; a request that
 * its caller wrote in this format goes out as it came.
 */
import { AnthropicStream, anthropicWhole } from './anthropic/anthropic-response.ts'
import { anthropicBody } from './anthropic/anthropic-request.ts'
import { namesInData } from './openai/openai-format.ts'
import { chatRequestOf, refuseSeveralResults } from './chat-request.ts'
import { objectIn, textIn } from './json-fields.ts'
import type { Call, Failure, Outgoing, Provider } from './provider.ts'
import { isObject } from './usage.ts'

const version = '2023-06-01'

/** An empty account is told as a bad request; the words are exact, so that no caller's words can be them. */
function statusOf({ status, body }: Failure): number {
  const error = isObject(body) ? objectIn(body, 'error') : undefined
  const message = (error && textIn(error, 'message')) ?? ''
  return status === 400 && message.startsWith('Your credit balance is too low to access') ? 402 : status
}

function headersOf({ body: { stream, own }, credential }: Call): Outgoing['headers'] {
  return [
    ['content-type', 'application/json'],
    ['accept', stream ? 'text/event-stream' : 'application/json'],
    ...(own?.headers ?? [['anthropic-version', version]]),
    ['x-api-key', credential],
    ['user-agent', 'sluice'],
  ]
}

export const anthropic: Provider = {
  name: 'anthropic',
  title: 'Anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  speaks: 'messages',
  ask(call: Call): Outgoing {
    const { model, modelMaximumTokens, maximumTokens } = call
    const { stream, own } = call.body
    const url = `${call.baseUrl}/messages`
    if (own) return { url, headers: headersOf(call), body: own.spliced({ model, maximumTokens }) }
    const request = chatRequestOf(call)
    refuseSeveralResults(request)
    const body = anthropicBody(request, { model, modelMaximumTokens, stream })
    return { url, headers: headersOf(call), body: [Buffer.from(JSON.stringify(body))] }
  },
  countTokens(call: Call): Outgoing {
    const body = call.body.own?.spliced({ model: call.model, maximumTokens: null }) ?? []
    return { url: `${call.baseUrl}/messages/count_tokens`, headers: headersOf(call), body }
  },
  translation: {
    whole: anthropicWhole,
    stream: (call) => new AnthropicStream(call),
  },
  models: ({ baseUrl, credential }) => ({
    url: `${baseUrl}/models?limit=1000`,
    headers: [
      ['accept', 'application/json'],
      ['anthropic-version', version],
      ['x-api-key', credential],
      ['user-agent', 'sluice'],
    ],
    namesOf: namesInData,
  }),
  statusOf,
}
