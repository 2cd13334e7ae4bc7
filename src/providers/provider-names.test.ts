/** Names of tools and properties that a provider rejects: what is sent, and what the caller gets back. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { createCall, sentBody } from './contract.fixture.ts'
import { getObject, getObjects, type Json } from './json-fields.ts'
import { JsonKeyRenamer } from './json-key-renamer.ts'
import type { Provider } from './provider.ts'
import { findProvider } from './registry.ts'

const long = 'x'.repeat(65)
const query = {
  type: 'object',
  properties: {
    $filter: { type: 'string', enum: ['$filter'] },
    plain: {
      type: 'object',
      properties: { '@type': { type: 'string' }, properties: {} },
      required: ['@type'],
    },
    list: { type: 'array', items: { anyOf: [{ $ref: '#/$defs/城' }] } },
  },
  required: ['$filter', 'plain'],
  dependentRequired: { plain: ['$filter'] },
  $defs: { 城: { type: 'object', properties: { 城市: { type: 'string' }, [long]: {} } } },
}
const name = 'odata.query'
const input = { $filter: 'a eq "$filter"', plain: { '@type': '\\"' }, list: [{ 城市: 'Bern', [long]: 1 }] }
const request = {
  messages: [
    { role: 'user', content: 'Which?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(input) } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'None.' },
  ],
  tools: [
    { type: 'function', function: { name, parameters: query } },
    { type: 'function', function: { name: 'odata_query' } },
  ],
  tool_choice: { type: 'function', function: { name } },
}

function providerNamed(given: string): Provider {
  return findProvider(given) ?? assert.fail(given)
}

interface SentTool {
  readonly name: string
  readonly schema: Json
  readonly input: Json
}

/** What a provider gets of the request: its first tool, and the call in the history. */
function sentTool(given: 'anthropic' | 'bedrock'): SentTool {
  const provider = providerNamed(given)
  const body = sentBody(provider, createCall(provider, request))
  const called = getObjects(getObjects(body, 'messages')[1] ?? {}, 'content')[0] ?? {}
  if (given === 'anthropic') {
    const [tool = {}] = getObjects(body, 'tools')
    assert.deepEqual(body['tool_choice'], { type: 'tool', name: tool['name'] })
    assert.equal(called['name'], tool['name'])
    const schema = getObject(tool, 'input_schema') ?? {}
    return { name: String(tool['name']), schema, input: getObject(called, 'input') ?? {} }
  }
  const [tool = {}] = getObjects(getObject(body, 'toolConfig') ?? {}, 'tools')
  const spec = getObject(tool, 'toolSpec') ?? {}
  const use = getObject(called, 'toolUse') ?? {}
  assert.equal(use['name'], spec['name'])
  const { json } = spec['inputSchema'] as { json: Json }
  return { name: String(spec['name']), schema: json, input: use['input'] as Json }
}

/** All keys in a value. */
function keysIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]) => [key, ...keysIn(each)])
}

describe('names that Claude rejects', () => {
  for (const given of ['anthropic', 'bedrock'] as const) {
    test(`${given} gets accepted names in schema and history`, () => {
      const { name: sent, schema, input: sentInput } = sentTool(given)
      assert.match(sent, /^[a-zA-Z0-9_-]{1,64}$/)
      assert.notEqual(sent, 'odata_query')
      const properties = Object.keys(getObject(schema, 'properties') ?? {})
      for (const key of [...properties, ...keysIn(sentInput)]) assert.match(key, /^[a-zA-Z0-9_.-]{1,64}$/)
      assert.deepEqual(properties.slice(1), ['plain', 'list'])
      assert.deepEqual(schema['required'], [properties[0], 'plain'])
      assert.deepEqual(schema['dependentRequired'], { plain: [properties[0]] })
      assert.deepEqual(Object.keys(sentInput), properties)
      assert.match(JSON.stringify(schema), /"enum":\["\$filter"\]/)
      assert.match(JSON.stringify(schema), /"properties":\{\}/)
    })

    test(`${given}: the caller gets its own names back, streamed or not`, () => {
      const provider = providerNamed(given)
      const { name: sent, input: sentInput } = sentTool(given)
      const call = createCall(provider, { ...request, stream: true })
      const text = JSON.stringify(sentInput)
      const { translation } = provider
      const isClaude = given === 'anthropic'
      const message = isClaude
        ? { content: [{ type: 'tool_use', id: 't', name: sent, input: sentInput }], stop_reason: 'tool_use' }
        : {
            output: { message: { content: [{ toolUse: { toolUseId: 't', name: sent, input: sentInput } }] } },
            stopReason: 'tool_use',
          }
      const [choice = {}] = getObjects(
        translation?.translateResponse(message, call).response ?? {},
        'choices',
      )
      const [whole = {}] = getObjects(getObject(choice, 'message') ?? {}, 'tool_calls')
      assert.deepEqual(whole['function'], { name, arguments: JSON.stringify(input) })

      for (const size of [1, 7, text.length]) {
        const stream = translation?.createStream(call)
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
          text.slice(at * size, (at + 1) * size),
        )
        const events = isClaude
          ? [
              { type: 'message_start', message: {} },
              {
                type: 'content_block_start',
                index: 0,
                content_block: { type: 'tool_use', id: 't', name: sent },
              },
              ...pieces.map((piece) => {
                const delta = { type: 'input_json_delta', partial_json: piece }
                return { type: 'content_block_delta', index: 0, delta }
              }),
              { type: 'content_block_stop', index: 0 },
            ].map((event) => ({ name: event.type, text: JSON.stringify(event) }))
          : [
              { name: 'contentBlockStart', start: { toolUse: { toolUseId: 't', name: sent } } },
              ...pieces.map((piece) => ({ name: 'contentBlockDelta', delta: { toolUse: { input: piece } } })),
              { name: 'contentBlockStop' },
            ].map(({ name: event, ...fields }) => {
              return { name: event, text: JSON.stringify({ contentBlockIndex: 0, ...fields }) }
            })
        const chunks = events.flatMap((event) => [...(stream?.translate(event) ?? [])])
        const calls = chunks.flatMap((chunk) => {
          const [{ delta } = {}] = getObjects(chunk, 'choices') as { delta?: Json }[]
          return getObjects(delta ?? {}, 'tool_calls')
        }) as { function: { name?: string; arguments: string } }[]
        assert.equal(calls[0]?.function.name, name)
        assert.equal(calls.map((each) => each.function.arguments).join(''), JSON.stringify(input))
      }
    })
  }

  test('The properties of a response format are restored in its text', () => {
    const provider = providerNamed('anthropic')
    const json_schema = { name: 'answer', schema: { type: 'object', properties: { 城市: {} } } }
    const call = createCall(provider, { response_format: { type: 'json_schema', json_schema } })
    const { output_config: config } = sentBody(provider, call) as {
      output_config: { format: { schema: { properties: Json } } }
    }
    const [sent = ''] = Object.keys(config.format.schema.properties)
    assert.match(sent, /^[a-zA-Z0-9_.-]{1,64}$/)
    const answer = { content: [{ type: 'text', text: `{"${sent}":"${sent}"}` }], stop_reason: 'end_turn' }
    const { response } = provider.translation?.translateResponse(answer, call) ?? assert.fail()
    assert.match(JSON.stringify(response), new RegExp(`\\{\\\\"城市\\\\":\\\\"${sent}\\\\"\\}`))
  })
})

describe('JsonKeyRenamer', () => {
  test('Values, escaped quotes and unknown keys stay as they are', () => {
    const names = new Map([['a', '$a']])
    const text = '{"a":"a\\"a\\\\","b":["a",{"a":1}], "a\\u0020":[{"a":"a"}]}'
    assert.equal(new JsonKeyRenamer(names).push(text), text.replaceAll('"a":', '"$a":'))
    assert.equal(new JsonKeyRenamer(names).push('not {"a" json'), 'not {"$a" json')
  })
})
