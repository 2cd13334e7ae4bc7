// @backend both
/** Errors of the Messages API: the same as for chat completions, in Anthropic's format. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import {
  messagesRequest,
  postMessages,
  readMessagesError,
  respondWithMessage,
} from '../../support/upstream/anthropic-messages.ts'
import { respondWithError, respondWithJson, respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { BODY_LIMIT: '64KiB' } })
const prices: [string, string] = ['0.002', '0.008']
const claude = await server.upstream(respondWithMessage(['Hello!']), { provider: 'anthropic' })
const openai = await server.upstream(respondWith('Hello!', { input: 12, output: 6 }))
claude.strict('anthropic')
openai.strict('openai')
await server.model('claude', { upstreams: [claude], prices })
await server.model('openai', { upstreams: [openai], prices })

describe('Messages API errors', () => {
  test('Every error – has Anthropic’s shape and type, the same status, and the retry header', async () => {
    const rich = await server.account({ balance: '¥1' })
    const poor = await server.account()
    const capped = await server.account({ balance: '¥1', key: { caps: { daily: '0.0000001' } } })
    const narrow = await server.account({ balance: '¥1', key: { models: ['openai'] } })
    const limited = await server.account({ balance: '¥1', key: { limits: { tpm: 10 } } })
    const unknown = await server.account()
    unknown.key = { id: '', secret: 'sk-nobody' }
    const cases: [Promise<Response>, number, string, string][] = [
      [postMessages(unknown, messagesRequest('claude')), 401, 'authentication_error', 'invalid_api_key'],
      [postMessages(poor, messagesRequest('claude')), 402, 'billing_error', 'insufficient_quota'],
      [postMessages(capped, messagesRequest('claude')), 402, 'billing_error', 'spend_cap_exceeded'],
      [postMessages(narrow, messagesRequest('claude')), 403, 'permission_error', 'model_not_allowed'],
      [postMessages(rich, messagesRequest('nowhere')), 404, 'not_found_error', 'model_not_found'],
      [
        postMessages(rich, messagesRequest('claude'), { path: '/v1/messages/batches' }),
        404,
        'not_found_error',
        'not_found',
      ],
      [
        postMessages(rich, messagesRequest('claude', { system: 'x'.repeat(70_000) })),
        413,
        'request_too_large',
        'request_too_large',
      ],
      [postMessages(limited, messagesRequest('claude')), 429, 'rate_limit_error', 'rate_limit_exceeded'],
      [postMessages(rich, '{'), 400, 'invalid_request_error', 'invalid_json'],
    ]
    for (const [pending, status, type, code] of cases) {
      const response = await pending
      const error = await readMessagesError(response)
      assert.deepEqual([response.status, error.type, error.code], [status, type, code])
      // The limit of the 429 is smaller than the request itself.
      assert.equal(response.headers.get('x-should-retry'), 'false', code)
    }
  })

  test('A prompt that is too long is reported in the words of the caller’s format', async () => {
    const account = await server.account({ balance: '¥1' })
    const ofOpenAI = 'maximum context length is 8192 tokens. However, you requested 9000 tokens.'
    const code = 'context_length_exceeded'
    const ofClaude = 'prompt is too long: 209353 tokens > 199999 maximum'
    const answers = {
      openai: respondWithJson(400, { error: { message: ofOpenAI, type: 'invalid_request_error', code } }),
      claude: respondWithJson(400, {
        type: 'error',
        error: { type: 'invalid_request_error', message: ofClaude },
      }),
    }
    for (const stream of [false, true]) {
      openai.next(answers.openai)
      const messages = await postMessages(account, messagesRequest('openai', { stream }))
      const error = await readMessagesError(messages)
      assert.equal(messages.status, 400)
      assert.deepEqual([error.type, error.code], ['invalid_request_error', code])
      assert.equal(error.message, `prompt is too long: ${ofOpenAI}`)

      for (const [path, request] of [
        ['/v1/chat/completions', { messages: messagesRequest('claude').messages }],
        ['/v1/responses', { input: 'Hi' }],
      ] as const) {
        claude.next(answers.claude)
        const response = await account.post({ model: 'claude', stream, ...request }, { path })
        const { error: given } = (await response.json()) as { error: Record<string, unknown> }
        assert.deepEqual([response.status, given['code'], given['message']], [400, code, ofClaude])
      }
    }
    claude.next(answers.claude)
    const unchanged = await readMessagesError(await postMessages(account, messagesRequest('claude')))
    assert.equal(unchanged.message, ofClaude)
    assert.equal(await account.balance(), '1')
  })

  test('Invalid request – names its field', async () => {
    const account = await server.account({ balance: '¥1' })
    const hello = messagesRequest('claude').messages
    const cases: [object, string][] = [
      [{ max_tokens: 9, messages: hello }, 'model'],
      [{ model: 'claude', messages: hello }, 'max_tokens'],
      [messagesRequest('claude', { max_tokens: 0 }), 'max_tokens'],
      [messagesRequest('claude', { max_tokens: '256' }), 'max_tokens'],
      [{ model: 'claude', max_tokens: 9 }, 'messages'],
      [messagesRequest('claude', { messages: [] }), 'messages'],
      [messagesRequest('claude', { messages: ['Hello'] }), 'messages[0]'],
      [messagesRequest('claude', { messages: [{ content: 'Hello' }] }), 'messages[0].role'],
      [messagesRequest('claude', { stream: 'yes' }), 'stream'],
      [messagesRequest('claude', { Max_Tokens: 9 }), 'Max_Tokens'],
      [messagesRequest('openai', { messages: [{ role: 'robot', content: 'x' }] }), 'messages[0].role'],
      [
        messagesRequest('openai', { messages: [{ role: 'user', content: [{ type: 'video' }] }] }),
        'messages[0].content[0].type',
      ],
      [messagesRequest('openai', { system: 7 }), 'system'],
      [
        messagesRequest('openai', { tool_choice: { type: 'some' }, tools: [{ name: 'a' }] }),
        'tool_choice.type',
      ],
      [messagesRequest('openai', { mcp_servers: [{ url: 'https://x' }] }), 'mcp_servers'],
    ]
    for (const [body, param] of cases) {
      const response = await postMessages(account, body)
      const error = await readMessagesError(response)
      assert.deepEqual([response.status, error.type, error.param], [400, 'invalid_request_error', param])
      assert.match(
        error.message,
        new RegExp(`^(Invalid|Missing) (field )?["\`]${param.replace(/[[\].]/g, '\\$&')}`),
      )
    }
  })

  test('Upstream errors – a caller error keeps status and text, ours is 503, a rate limit 429', async () => {
    const account = await server.account({ balance: '¥1' })
    const errorBody = (type: string, message: string, more: object = {}): object => ({
      type: 'error',
      error: { type, message, ...more },
    })
    const details = { error_code: 'message_too_odd', key: 'sk-ant-api03-0123456789abcdef' }
    const invalid = errorBody('invalid_request_error', 'messages.0: too odd', { details })
    const cases: [Script, number, string][] = [
      [respondWithError(400, invalid), 400, 'invalid_request_error'],
      [respondWithError(413, errorBody('request_too_large', 'Too much.')), 413, 'request_too_large'],
      [
        respondWithError(401, errorBody('authentication_error', 'invalid x-api-key')),
        503,
        'overloaded_error',
      ],
      [respondWithError(529, errorBody('overloaded_error', 'Overloaded')), 503, 'overloaded_error'],
      [
        respondWithError(429, errorBody('rate_limit_error', 'Slow down.'), { 'retry-after': '7' }),
        429,
        'rate_limit_error',
      ],
    ]
    for (const [script, status, type] of cases) {
      claude.next(script)
      const response = await postMessages(account, messagesRequest('claude'))
      const error = await readMessagesError(response)
      assert.deepEqual([response.status, error.type], [status, type])
      if (status === 400) {
        assert.equal(error.message, 'messages.0: too odd')
        assert.deepEqual(error.details, { error_code: 'message_too_odd', key: '[removed]' })
      }
      if (status === 429) assert.equal(response.headers.get('retry-after'), '7')
    }
    assert.equal(await account.balance(), '1')
  })

  test('Token counts – have windows of their own, as long as those of requests', async () => {
    const account = await server.account({ balance: '¥1', key: { limits: { rpm: 2 } } })
    const count = (): Promise<Response> =>
      postMessages(account, messagesRequest('openai'), { path: '/v1/messages/count_tokens' })
    const send = (): Promise<Response> => postMessages(account, messagesRequest('openai'))
    const statuses: number[] = []
    for (const each of [count, count, count, send, send, send]) statuses.push((await each()).status)
    assert.deepEqual(statuses, [200, 200, 429, 200, 200, 429])
    assert.match((await readMessagesError(await count())).message, /this key: 2 token counts per minute/)
  })
})
