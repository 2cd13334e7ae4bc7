import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { providerFor } from '../../providers/openai/spoken-apis.ts'
import type { Spoken } from '../../providers/provider.ts'
import { findProvider } from '../../providers/registry.ts'
import { readMessagesRequest } from '../request/messages-request.ts'
import { readChatRequest } from '../request/request-body.ts'
import type { RejectedField } from './attempt-call.ts'
import { rejectedField } from './rejected-fields.ts'
import { rejectsChat } from './responses-quirks.ts'
import { upstreamErrorFromResponse } from './upstream-error.ts'

const common = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true }
const sampling = { temperature: 0.5, top_p: 0.9 }
const chat = readChatRequest(
  Buffer.from(JSON.stringify({ ...common, ...sampling, reasoning_effort: 'low', user: 'u' })),
)
const messages = readMessagesRequest(
  Buffer.from(
    JSON.stringify({
      ...common,
      ...sampling,
      max_tokens: 9000,
      thinking: { type: 'enabled', budget_tokens: 5000 },
      metadata: { user_id: 'u' },
      tools: [{ name: 't', input_schema: {} }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    }),
  ),
  { headers: { version: undefined, beta: undefined }, isTokenCount: false },
)

/** What the relay leaves out after an error. `providerName`: or a model of OpenAI that has no chat completions. */
function leftOut(
  request: typeof chat | typeof messages,
  providerName: string,
  body: unknown,
  options: {
    readonly status?: number
    readonly maximumTokens?: number
    readonly without?: string[]
    readonly speaks?: readonly Spoken[]
  } = {},
): RejectedField | null {
  const { status = 400, maximumTokens = null, without = [], speaks } = options
  const settings = speaks ? { speaks } : {}
  const provider =
    findProvider(providerName) ?? providerFor({ provider: 'openai', settings }, providerName, undefined)
  assert.ok(provider)
  const bytes = Buffer.from(JSON.stringify(body))
  const error = upstreamErrorFromResponse(
    { status, bytes, retryAfter: null, errorType: null },
    { credential: '', now: 0, provider },
  )
  const encoding = request.encodingFor(provider)
  const withoutFields = new Set(without)
  return rejectedField(error, { body: encoding, provider, settings, maximumTokens, withoutFields })
}

const withMessage = (message: string): object => ({ error: { message, type: 'invalid_request_error' } })

describe('rejectedField', () => {
  test('errors of every provider – name the field that the relay translated', () => {
    for (const [message, field] of [
      ['Unrecognized request argument supplied: reasoning_effort', 'reasoning'],
      ["Unsupported parameter: 'top_p' is not supported with this model.", 'top_p'],
      ["Unknown parameter: 'user'.", 'user'],
      ["Unsupported parameter: 'parallel_tool_calls' is not supported.", 'parallel_tool_calls'],
      ["property 'reasoning_effort' is unsupported", 'reasoning'],
      ['`reasoning_effort` is not supported with this model', 'reasoning'],
      ['"gemma3:4b" does not support thinking', 'reasoning'],
      ['Model grok-4 does not support parameter reasoningEffort.', 'reasoning'],
      ["litellm.UnsupportedParamsError: openai does not support parameters: ['top_p'], for m", 'top_p'],
      ["Extra inputs are not permitted, field: 'reasoning_effort', value: 'low'", 'reasoning'],
      ['1 validation error for ChatCompletionRequest\ntemperature\n  Extra inputs are not', 'temperature'],
      ["[{'type': 'extra_forbidden', 'loc': ('body', 'user'), 'msg': 'Extra inputs are not'}]", 'user'],
      ['`temperature` and `top_p` cannot both be specified for this model.', 'temperature and top_p'],
    ] as const) {
      assert.equal(leftOut(messages, 'openai', withMessage(message))?.field, field, message)
    }
    for (const [provider, message, field] of [
      ['anthropic', '`temperature` is deprecated for this model.', 'temperature'],
      ['anthropic', 'top_p: Extra inputs are not permitted', 'top_p'],
      ['anthropic', 'thinking.type.enabled is not supported for this model.', 'reasoning'],
      ['anthropic', 'This model does not support the effort parameter.', 'reasoning'],
      [
        'bedrock',
        'The model returned the following errors: temperature: Extra inputs are not permitted',
        'temperature',
      ],
      [
        'gemini',
        'Invalid JSON payload received. Unknown name "thinkingConfig" at \'generation_config\'',
        'reasoning',
      ],
      ['gemini', 'Thinking level is not supported for this model.', 'reasoning'],
    ] as const) {
      assert.equal(leftOut(chat, provider, withMessage(message))?.field, field, message)
    }
  })

  test('structured errors – name the field by `param` and code, or by the path of a validator', () => {
    const error = { message: 'No.', param: 'reasoning_effort', code: 'unsupported_parameter' }
    assert.equal(leftOut(messages, 'openai', { error })?.field, 'reasoning')
    assert.equal(leftOut(messages, 'openai', { error: { ...error, code: 'invalid_value' } }), null)
    const detail = [{ loc: ['body', 'temperature'], type: 'extra_forbidden', msg: 'Extra', input: 0.5 }]
    for (const body of [{ detail }, { object: 'error', message: { detail } }, { message: detail }])
      assert.equal(leftOut(messages, 'mistral', body, { status: 422 })?.field, 'temperature')
    const range = [{ loc: ['body', 'temperature'], type: 'less_than_equal', msg: 'Too large' }]
    assert.equal(leftOut(messages, 'mistral', { detail: range }, { status: 422 }), null)
  })

  test('a rejected value – is not taken for a field that accepts none', () => {
    const error = { param: 'reasoning_effort', code: 'unsupported_value' }
    const message = "Unsupported value: 'reasoning_effort' does not support 'low' with this model."
    const found = leftOut(messages, 'openai', { error: { ...error, message } })
    assert.deepEqual(found, { field: 'reasoning', isAlways: false })
    const onlyDefault = "Unsupported value: 'temperature' does not support 0.5. Only the default (1) value is"
    assert.equal(
      leftOut(messages, 'openai', withMessage(onlyDefault), { without: ['reasoning'] })?.isAlways,
      true,
    )
  })

  test('fields in the caller’s own format – are never left out, except for the usage option', () => {
    const reject = (name: string): object => withMessage(`Unsupported parameter: '${name}'`)
    for (const name of ['reasoning_effort', 'temperature', 'top_p', 'user', 'max_tokens'])
      assert.equal(leftOut(chat, 'openai', reject(name)), null, name)
    assert.equal(leftOut(messages, 'anthropic', reject('temperature')), null)
    assert.equal(leftOut(chat, 'openai', reject('stream_options'))?.field, 'stream_options')
    assert.equal(leftOut(messages, 'anthropic', reject('stream_options')), null)
  })

  test('a field rejected beside others of one caller – is sent in the requests of others', () => {
    const stream = (fields: object) => readChatRequest(Buffer.from(JSON.stringify({ ...common, ...fields })))
    const usage = { include_usage: true }
    const named = withMessage("Unknown parameter: 'stream_options'.")
    const find = (fields: object, body: unknown) => leftOut(stream(fields), 'openai', body)
    assert.deepEqual(find({ stream_options: usage }, named), { field: 'stream_options', isAlways: true })
    assert.deepEqual(find({ stream_options: usage, n: 2 }, named), {
      field: 'stream_options',
      isAlways: false,
    })
    const conditional = withMessage('stream_options.include_usage is not supported with n > 1.')
    assert.deepEqual(find({}, conditional), { field: 'stream_options', isAlways: false })
    assert.equal(find({}, withMessage('No include_usage here.'))?.isAlways, false)
    const own = { stream_options: { ...usage, x: 1 } }
    for (const body of [
      withMessage("Unknown parameter: 'stream_options.x'."),
      { detail: [{ loc: ['body', 'stream_options', 'x'], type: 'extra_forbidden', msg: 'Extra' }] },
      named,
    ])
      assert.equal(find(own, body), null)
    const temperature = withMessage("Unsupported parameter: 'temperature' is not supported with this model.")
    assert.equal(leftOut(messages, 'openai', temperature)?.isAlways, false, 'it may be the reasoning')
    assert.equal(leftOut(messages, 'openai', temperature, { without: ['reasoning'] })?.isAlways, true)
  })

  test('the maximum of output tokens – changes its name where the relay has set it', () => {
    const error = withMessage("Unsupported parameter: 'max_tokens' is not supported with this model.")
    const found = { field: 'max_tokens', isAlways: true }
    assert.deepEqual(leftOut(messages, 'openai-compatible', error), found)
    assert.deepEqual(leftOut(chat, 'openai-compatible', error, { maximumTokens: 50 }), found)
    assert.equal(leftOut(chat, 'openai-compatible', error), null)
  })

  test('chat completions that a model does not have – are replaced by the Responses API', () => {
    const only = withMessage('This model is only supported in v1/responses and not in v1/chat/completions.')
    const azure = withMessage('The chatCompletion operation does not work with the specified model, codex.')
    const legacy = withMessage(
      'This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean',
    )
    const toolsOnly = withMessage(
      'Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions.',
    )
    const chatField = { field: 'chat/completions', isAlways: true }
    for (const request of [chat, messages]) {
      assert.deepEqual(leftOut(request, 'openai', only, { status: 404 }), chatField)
      assert.deepEqual(leftOut(request, 'azure', azure), chatField)
      assert.deepEqual(leftOut(request, 'openai', legacy, { status: 404 }), chatField)
      assert.equal(leftOut(request, 'openai', toolsOnly)?.field, 'chat/completions with tools')
      assert.equal(leftOut(request, 'groq', only, { status: 404 }), null, 'it speaks no other API')
    }
    assert.equal(leftOut(chat, 'openai', only, { without: ['chat/completions'] }), null)
    const none = { status: 404, speaks: ['responses'] } as const
    assert.deepEqual(leftOut(chat, 'vllm', { detail: 'Not Found' }, none), chatField)
    assert.deepEqual(leftOut(chat, 'vllm', {}, { ...none, status: 405 }), chatField)
    assert.equal(leftOut(chat, 'vllm', withMessage('The model `x` does not exist.'), none), null)
    assert.equal(leftOut(chat, 'openai', { detail: 'Not Found' }, { status: 404 }), null)
    assert.deepEqual(
      [[], ['chat/completions'], ['chat/completions with tools']].flatMap((rejected) =>
        [chat, messages].map((request) => rejectsChat(new Set(rejected), request)),
      ),
      [false, false, true, true, false, true],
    )
  })

  test('what the relay adds to translated requests of the Responses API – is left out', () => {
    const summary = { message: 'Your organization must be verified to generate reasoning summaries.' }
    const named = { message: 'No.', param: 'reasoning.summary', code: 'unsupported_value' }
    const include = withMessage('Encrypted content is not supported with this model.')
    const foreign = { error: { message: 'Could not be verified.', code: 'invalid_encrypted_content' } }
    for (const [body, field, isAlways] of [
      [{ error: summary }, 'reasoning.summary', true],
      [{ error: named }, 'reasoning.summary', true],
      [include, 'include', true],
      [foreign, 'reasoning_details', false],
    ] as const) {
      assert.deepEqual(leftOut(messages, 'o3-pro', body), { field, isAlways })
      assert.notEqual(leftOut(messages, 'openai', body)?.field, field)
      assert.notEqual(leftOut(messages, 'o3-pro', body, { without: [field] })?.field, field)
    }
  })

  test('other errors – leave nothing out: the message must begin with the rejection', () => {
    for (const message of [
      "Invalid type for 'messages[0].content': 'Unsupported parameter: 'temperature''",
      "Unsupported parameter: 'tools' is not supported with this model.",
      "Unsupported parameter: 'top_k' is not supported with this model.",
      'messages.0.content.0.thinking: Extra inputs are not permitted.',
      'This model does not support image inputs.',
      'temperature must be at most 1',
    ]) {
      assert.equal(leftOut(messages, 'openai', withMessage(message)), null, message)
    }
    const temperature = withMessage("Unsupported parameter: 'temperature'")
    assert.equal(leftOut(messages, 'openai', temperature, { status: 500 }), null)
    assert.equal(leftOut(messages, 'openai', temperature, { without: ['temperature'] }), null)
  })
})
