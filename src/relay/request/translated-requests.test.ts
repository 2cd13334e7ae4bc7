/** Random requests that one provider accepts: the other accepts their translation, unless a feature is rejected by name. */
import { describe, test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'

import { trials } from '../../../test/support/runner/suite.ts'
import { findAnthropicMessagesProblem } from '../../../test/support/upstream/strict-anthropic-messages.ts'
import { findOpenAIChatProblem } from '../../../test/support/upstream/strict-openai-chat.ts'
import { createCall, sentBody } from '../../providers/contract.fixture.ts'
import { UnsupportedFeatureError } from '../../providers/provider.ts'
import { messagesRequest, providerNamed } from './messages.fixture.ts'

type Json = Record<string, unknown>

const numRuns = trials({ short: 200, all: 3000 })
const { constant, constantFrom, array, option, record, tuple, boolean } = fc

/** The fields, each of which may be absent. */
function someOf(fields: Record<string, Arbitrary<unknown>>): Arbitrary<Json> {
  return record(fields, { requiredKeys: [] })
}

function list<Item>(item: Arbitrary<Item>, maxLength = 3): Arbitrary<Item[]> {
  return array(item, { maxLength })
}

const texts = constantFrom('', ' ', '\n', 'Hi', 'So ', ' a\n')
const names = constantFrom('clock', 'a-b', '9to5', 'f'.repeat(64))
const pixel = 'iVBORw0KGgo='
const schemas = constantFrom<object>(
  { type: 'object' },
  { type: 'object', properties: { a: { type: 'integer' } }, additionalProperties: false },
  { type: 'object', properties: { a: {} }, required: ['a'], additionalProperties: false },
)

describe('chat completions to other formats', () => {
  const textPart = texts.map((text) => ({ type: 'text', text }))
  const urls = constantFrom(
    `data:image/png;base64,${pixel}`,
    `data:image/jpg;base64,${pixel}`,
    'https://a.b/c',
  )
  const imagePart = urls.map((url) => ({ type: 'image_url', image_url: { url } }))
  const contents = fc.oneof(texts, array(textPart, { minLength: 1, maxLength: 3 }))
  const roles = constantFrom('system', 'developer', 'user', 'assistant')
  const plain = tuple(roles, contents).map(([role, content]) => [{ role, content }])
  const pictured = array(fc.oneof(textPart, imagePart), { minLength: 1, maxLength: 3 })
  const refused = constant([{ role: 'assistant', content: null, refusal: 'No.' }])
  const ids = constantFrom(
    'call_0',
    'call_1',
    'call_0_2',
    'functions.clock:0',
    'i'.repeat(40),
    '.'.repeat(40),
  )
  const inputs = constantFrom('{}', '{"a":1}', '{"a', '', '[]')
  const calls = fc.uniqueArray(tuple(ids, names, inputs), {
    selector: ([id]) => id,
    minLength: 1,
    maxLength: 3,
  })
  const rounds = tuple(option(texts), calls, contents, boolean()).map(
    ([content, called, answer, isReversed]) => {
      const tool_calls = called.map(([id, name, input]) => {
        return { id, type: 'function', function: { name, arguments: input } }
      })
      const results = called.map(([id]) => ({ role: 'tool', tool_call_id: id, content: answer }))
      return [{ role: 'assistant', content, tool_calls }, ...(isReversed ? results.toReversed() : results)]
    },
  )
  const turns = fc.oneof(
    plain,
    rounds,
    refused,
    pictured.map((content) => [{ role: 'user', content }]),
  )
  const tools = fc.uniqueArray(names, { minLength: 1 }).chain((all) =>
    tuple(...all.map((name) => tuple(constant(name), option(schemas), boolean()))).map((each) =>
      each.map(([name, parameters, strict]) => ({
        type: 'function',
        function: { name, parameters, strict },
      })),
    ),
  )
  const format = schemas.map((schema) => ({ type: 'json_schema', json_schema: { name: 'a', schema } }))
  const options = someOf({
    tools,
    tool_choice: constantFrom('none', 'auto', 'required'),
    parallel_tool_calls: boolean(),
    temperature: constantFrom(0, 0.5, 2),
    top_p: constantFrom(0.1, 1),
    stop: fc.oneof(texts, array(texts, { minLength: 1, maxLength: 4 })),
    reasoning_effort: constantFrom('none', 'minimal', 'low', 'high', 'xhigh', 'max'),
    max_tokens: constantFrom(1, 1024, 1025, 9000),
    max_completion_tokens: constantFrom(500, 8000),
    response_format: format,
    user: constantFrom('u', 'u'.repeat(64)),
    stream: boolean(),
    seed: constantFrom(1, 2 ** 40),
    frequency_penalty: constant(1),
  })
  const claudeModels = constantFrom(
    'claude-3-7-sonnet-latest',
    'claude-opus-4-1',
    'claude-sonnet-4-5',
    'claude-opus-4-6',
    'claude-sonnet-5',
  )

  const geminiModels = constantFrom('gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-3-pro')

  for (const [name, models] of [
    ['anthropic', claudeModels],
    ['bedrock', claudeModels],
    ['vertex', claudeModels],
    ['gemini', geminiModels],
    ['cohere', constantFrom('command-a-03-2025')],
  ] as const) {
    test(`property – what OpenAI accepts is accepted in translation by ${name}`, () => {
      fc.assert(
        fc.property(array(turns, { minLength: 1, maxLength: 6 }), options, models, (some, fields, model) => {
          // Recent models of Anthropic cannot continue a message.
          const last = models === claudeModels ? [{ role: 'user', content: 'Go on.' }] : []
          const json = { messages: [...some.flat(), ...last], ...fields }
          fc.pre(findOpenAIChatProblem({ model: 'm', ...json }) === undefined)
          const provider = providerNamed(name).forModel?.(model) ?? providerNamed(name)
          try {
            sentBody(provider, createCall(provider, json, { model }))
          } catch (error) {
            if (!(error instanceof UnsupportedFeatureError)) throw error
          }
        }),
        { numRuns },
      )
    })
  }
})

describe('messages to OpenAI', () => {
  /** Anthropic rejects blank texts. */
  const texts = constantFrom('Hi', 'So ', ' a\n')
  const textBlock = texts.map((text) => ({ type: 'text', text }))
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }
  const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: pixel } }
  const blocks = fc.oneof(textBlock, constantFrom<object>(image, pdf))
  const ids = constantFrom(
    'toolu_1',
    'toolu_2',
    'c2_a-1',
    'i'.repeat(80),
    `sluice_${Buffer.from('a.b:0').toString('base64url')}`,
  )
  const calls = fc.uniqueArray(tuple(ids, constantFrom('clock', 'g'.repeat(128))), {
    selector: ([id]) => id,
    minLength: 1,
    maxLength: 3,
  })
  const answers = fc.oneof(constant(undefined), texts, list(blocks))
  /** A round in one message for each side, or in one message for each block. */
  const rounds = tuple(calls, answers, list(textBlock, 1), list(blocks, 1), boolean()).map(
    ([called, content, before, after, isSplit]) => {
      const uses = called.map(([id, name]) => ({ type: 'tool_use', id, name, input: {} }))
      const results = called.map(([id]) => ({ type: 'tool_result', tool_use_id: id, content }))
      const sides = [
        { role: 'assistant', content: [...before, ...uses] },
        { role: 'user', content: [...results, ...after] },
      ]
      if (!isSplit) return sides
      return sides.flatMap((side) => side.content.map((block) => ({ role: side.role, content: [block] })))
    },
  )
  const plain = tuple(constantFrom('user', 'assistant'), fc.oneof(texts, list(textBlock))).map(
    ([role, content]) => [{ role, content }],
  )
  const tools = fc.uniqueArray(constantFrom('clock', 'g'.repeat(128)), { minLength: 1 }).chain((all) =>
    tuple(...all.map((name) => tuple(constant(name), schemas, boolean()))).map((each) =>
      each.map(([name, input_schema, strict]) => {
        const isClosed = 'additionalProperties' in input_schema
        return { name, input_schema, strict: strict && isClosed }
      }),
    ),
  )
  const options = someOf({
    system: fc.oneof(texts, list(textBlock)),
    tools,
    tool_choice: constantFrom('auto', 'any', 'none').map((type) => ({ type })),
    temperature: constantFrom(0, 1),
    top_p: constantFrom(0.5, 1),
    top_k: constant(5),
    stop_sequences: list(texts, 2),
    thinking: constantFrom(
      { type: 'enabled', budget_tokens: 2000 },
      { type: 'adaptive' },
      { type: 'disabled' },
    ),
    output_config: someOf({
      effort: constantFrom('low', 'xhigh', 'max'),
      format: schemas.map((schema) => ({ type: 'json_schema', schema })),
    }),
    metadata: constantFrom({ user_id: 'u' }, { user_id: 'u'.repeat(200) }),
    stream: boolean(),
  })

  test('property – what Anthropic accepts is accepted in translation', () => {
    const openai = providerNamed('openai')
    const requests = tuple(
      array(fc.oneof(plain, rounds), { maxLength: 5 }),
      options,
      constantFrom('m', 'gpt-4o', 'gpt-4.1', 'o1'),
    )
    fc.assert(
      fc.property(requests, ([some, fields, model]) => {
        const messages = [{ role: 'user', content: 'Hi' }, ...some.flat()]
        const json = { model: 'm', max_tokens: 4000, messages, ...fields }
        fc.pre(findAnthropicMessagesProblem(json) === undefined)
        const body = messagesRequest(json).encodingFor(openai)
        sentBody(openai, { ...createCall(openai, {}, { model }), body })
      }),
      { numRuns },
    )
  })
})
