/** Ordinary requests in the OpenAI format that Cohere's rules would reject as they are. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall, sentBody } from '../contract.fixture.ts'
import type { Json } from '../json-fields.ts'
import { UnsupportedFeatureError } from '../provider.ts'
import { cohere } from './cohere.ts'

function bodyFor(json: Json): Json {
  return sentBody(cohere, createCall(cohere, json))
}

function assertRejected(json: Json, param: string): void {
  assert.throws(
    () => bodyFor(json),
    (error) => error instanceof UnsupportedFeatureError && error.param === param,
  )
}

describe('requests to Cohere', () => {
  test('sampling – stays within the ranges', () => {
    const most = bodyFor({ top_p: 1, top_k: 900, frequency_penalty: 2, presence_penalty: 1.5 })
    assert.deepEqual([most['p'], most['k']], [0.99, 500])
    assert.deepEqual([most['frequency_penalty'], most['presence_penalty']], [1, 1])
    const least = bodyFor({ top_p: 0, frequency_penalty: -2, presence_penalty: 0.5 })
    assert.deepEqual([least['p'], least['k']], [0.01, undefined])
    assert.deepEqual([least['frequency_penalty'], least['presence_penalty']], [0, 0.5])
  })

  test('empty messages – keep their content', () => {
    const empty = ['system', 'user'].map((role) => ({ role, content: '' }))
    assert.deepEqual(bodyFor({ messages: empty })['messages'], empty)
  })

  test('thinking – without tokens is disabled', () => {
    const thinkingOf = (max_tokens: number): unknown => bodyFor({ reasoning: { max_tokens } })['thinking']
    assert.deepEqual([0, -1, 9].map(thinkingOf), [
      { type: 'disabled' },
      { type: 'enabled' },
      { type: 'enabled', token_budget: 9 },
    ])
  })

  test('stop and response_format – that Cohere does not support are rejected by name', () => {
    const stop = ['1', '2', '3', '4', '5']
    assert.deepEqual(bodyFor({ stop })['stop_sequences'], stop)
    assertRejected({ stop: [...stop, '6'] }, 'stop')
    const format = { response_format: { type: 'json_object' } }
    assert.deepEqual(bodyFor(format)['response_format'], { type: 'json_object' })
    const tools = [{ type: 'function', function: { name: 'clock' } }]
    assertRejected({ ...format, tools }, 'response_format')
  })
})
