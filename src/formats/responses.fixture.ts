/** Translations of the Responses format, for tests: of a request, and of a response that arrives in chunks. */
import type { Json } from '../providers/json-fields.ts'
import { UnsupportedFeatureError } from '../providers/provider.ts'
import { findProvider } from '../providers/registry.ts'
import { noUsage } from '../providers/usage.ts'
import { capabilitiesOf } from './provider-capabilities.ts'
import { translateResponsesRequest } from './responses-request.ts'
import { translateToResponse } from './responses-response.ts'
import { ResponsesStreamEncoder } from './responses-stream.ts'

/** What a provider gets of a request with these fields. */
export function translated(fields: Json, provider = 'openai'): Json {
  const found = findProvider(provider)
  if (!found) throw new Error(`Provider ${provider} not found.`)
  return translateResponsesRequest({ model: 'm', input: 'Hi', ...fields }, capabilitiesOf(found))
}

/** The messages that a provider gets of these items. */
export function messagesOf(input: readonly Json[], provider?: string): unknown {
  return translated({ input }, provider)['messages']
}

/** The field that the translation of a request rejects. */
export function rejectedField(fields: Json, provider?: string): string {
  try {
    translated(fields, provider)
  } catch (error) {
    if (error instanceof UnsupportedFeatureError) return error.param
    throw error
  }
  return 'none'
}

/** The output items of a response with this message. */
export function outputOf(message: Json, request: Json = {}, provider = 'openai'): Json[] {
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  return translateToResponse({ choices }, { provider, request })['output'] as Json[]
}

const ending = { cutBy: null, paidTokens: Infinity, loweredMaximum: null }

export interface StreamEvent extends Json {
  readonly type: string
  readonly item: Json
  readonly response: Json
}

/** An encoder, and the events of the chunks that it gets; each delta counts as one output token. */
export function createStream(request: Json = {}, provider = 'openai') {
  const meter = { tokens: 0 }
  const encoder = new ResponsesStreamEncoder({ provider, request }, meter)
  return {
    encoder,
    send(delta: Json, finish: string | null = null): StreamEvent[] {
      meter.tokens += 1
      const bytes = encoder.encode({
        id: 'c',
        model: 'm',
        choices: [{ index: 0, delta, finish_reason: finish }],
      })
      return bytes ? decode(bytes) : []
    },
    finish: (): StreamEvent[] => decode(Buffer.concat(encoder.finalEvents({ ...ending, usage: noUsage }))),
  }
}

/** The payloads of encoded events, without `[DONE]`. */
export function decode(bytes: Buffer): StreamEvent[] {
  const payloads = Array.from(bytes.toString().matchAll(/^data: (\{.*)$/gm), ([, payload = '']) => payload)
  return payloads.map((payload) => JSON.parse(payload) as StreamEvent)
}
