import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall } from './contract.fixture.ts'
import { finishClassOf } from './finish-reasons.ts'
import { isObject, type Json } from './json-fields.ts'
import { providerFor } from './openai/spoken-apis.ts'
import type { Provider } from './provider.ts'
import { findProvider, providers } from './registry.ts'

function providerNamed(name: string): Provider {
  const found =
    name === 'responses'
      ? providerFor({ provider: 'openai', settings: {} }, 'o3-pro', undefined)
      : findProvider(name)
  assert.ok(found)
  return found
}

/** A complete response that ends with this reason, in the format of each provider. */
const responses: Readonly<Record<string, (reason: string) => Json>> = {
  anthropic: (reason) => ({ content: [{ type: 'text', text: 'Hi' }], stop_reason: reason }),
  bedrock: (reason) => ({ output: { message: { content: [{ text: 'Hi' }] } }, stopReason: reason }),
  cohere: (reason) => ({ message: { content: [{ type: 'text', text: 'Hi' }] }, finish_reason: reason }),
  gemini: (reason) => ({ candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: reason }] }),
  responses: (reason) => ({
    status: 'incomplete',
    incomplete_details: { reason },
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
  }),
}

/** The reason in the OpenAI format; throws for one that means failure. */
function translated(name: string, reason: string): unknown {
  const provider = providerNamed(name)
  const body = responses[name]?.(reason)
  const { choices } = provider.translation?.translateResponse(body, createCall(provider, {})).response ?? {}
  const choice: unknown = Array.isArray(choices) ? choices[0] : null
  return isObject(choice) ? choice['finish_reason'] : undefined
}

describe('Finish reasons', () => {
  test('A reason that nobody knows stays as it is in every format', () => {
    for (const name of Object.keys(responses)) assert.equal(translated(name, 'tired'), 'tired', name)
    assert.equal(translated('gemini', 'OTHER'), 'OTHER')
    for (const { name } of providers) assert.equal(finishClassOf(name, 'tired'), null, name)
  })

  test('A reason that means failure is an error of the provider', () => {
    const failed = [
      ['gemini', 'MALFORMED_FUNCTION_CALL'],
      ['gemini', 'UNEXPECTED_TOOL_CALL'],
      ['gemini', 'MISSING_THOUGHT_SIGNATURE'],
      ['bedrock', 'malformed_tool_use'],
      ['cohere', 'ERROR'],
    ] as const
    for (const [name, reason] of failed)
      assert.throws(() => translated(name, reason), { name: 'FailedResponseError' }, reason)
  })

  test('Each provider with the OpenAI format has a class for what it documents', () => {
    const known = [
      ['zhipu', 'sensitive', 'filtered'],
      ['zhipu', 'network_error', 'failed'],
      ['deepseek', 'insufficient_system_resource', 'failed'],
      ['openrouter', 'error', 'failed'],
      ['mistral', 'model_length', 'length'],
      ['together', 'eos', 'finished'],
      ['openai', 'sensitive', null],
      ['openai-compatible', 'MAX_TOKENS', 'length'],
      ['openai-compatible', 'network_error', 'failed'],
      ['openai', 'constructor', null],
    ] as const
    for (const [name, reason, expected] of known) assert.equal(finishClassOf(name, reason), expected, reason)
  })

  test('A failed response keeps what it says about its error', () => {
    const provider = providerNamed('responses')
    const error = { code: 'context_length_exceeded', message: 'Too long.' }
    assert.throws(
      () =>
        provider.translation?.translateResponse(
          { status: 'failed', error, output: [] },
          createCall(provider, {}),
        ),
      { body: { error: { ...error, type: error.code, status_code: 400 } } },
    )
  })
})
