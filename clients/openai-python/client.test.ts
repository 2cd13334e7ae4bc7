// @suite all – runs an official client
/** OpenAI's official client for Python, unchanged: runs the scenarios of end_to_end.py and checks them from the upstream's side. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import {
  image,
  maxDisconnectMs,
  rateLimitOnce,
  startClientTestServer,
  schema,
  toolCalls,
} from '../test-server.ts'
import type { ClientTestServer } from '../test-server.ts'
import type { RegisteredUpstream } from '../../test/support/server/test-server.ts'

const python = fileURLToPath(new URL('.venv/bin/python', import.meta.url))
const script = fileURLToPath(new URL('end_to_end.py', import.meta.url))

/** A function in end_to_end.py, and what to prepare and check on the server. */
interface Scenario {
  readonly name: string
  readonly before?: (context: ClientTestServer) => void
  /** `doneMs`: when the client was done, by `performance.now()`. */
  readonly after?: (context: ClientTestServer, doneMs: number) => Promise<void> | void
}

async function assertClosedWithinSecond(
  upstream: RegisteredUpstream,
  model: string,
  leftMs: number,
): Promise<void> {
  const disconnected = await upstream.nextDisconnect()
  assert.equal(disconnected.json['model'], model)
  assert.ok((disconnected.abortedAt ?? Infinity) - leftMs < maxDisconnectMs)
}

const scenarios: Record<string, Scenario> = {
  'Completion – arrives, and its cost is taken from the balance': {
    name: 'not_streamed',
    after: async ({ rich }) => assert.equal(Number(await rich.balance()), 9.9978),
  },
  'Base URL – also works without /v1': { name: 'base_url_without_version' },
  'Stream – has the same text, and no usage unless requested': { name: 'streamed' },
  'Stream with usage – ends with usage and cost': { name: 'streamed_with_usage' },
  'Parallel tool calls – arrive, streaming or not, and their results go back': {
    name: 'tools',
    after({ upstream }) {
      const messages = upstream.requests.at(-1)?.json['messages']
      const calls = toolCalls.map(({ id, ...call }) => ({ id, type: 'function', function: call }))
      const results = toolCalls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'sunny' }))
      assert.partialDeepStrictEqual(messages, [
        { role: 'user' },
        { role: 'assistant', tool_calls: calls },
        ...results,
      ])
    },
  },
  'Image in a data URL – reaches the upstream unchanged': {
    name: 'images',
    after: ({ upstream }) =>
      assert.partialDeepStrictEqual(upstream.requests.at(-1)?.json['messages'], [
        { role: 'user', content: [{ type: 'text' }, { type: 'image_url', image_url: { url: image } }] },
      ]),
  },
  'JSON schema and unknown fields – reach the upstream unchanged': {
    name: 'json_schema',
    after({ upstream }) {
      const { response_format: format, ...sent } = upstream.requests.at(-1)?.json ?? {}
      const { required, additionalProperties } = schema
      assert.partialDeepStrictEqual(format, { json_schema: { schema: { required, additionalProperties } } })
      assert.partialDeepStrictEqual(sent, { seed: 7, field_of_tomorrow: { deep: [1, null] } })
    },
  },
  'Models of a key – are listed and retrieved': { name: 'models' },
  'Errors – become the error classes of the client': { name: 'errors' },
  'Error with x-should-retry false – is not retried': { name: 'not_retried' },
  'Rate-limited upstream – the client retries and gets a response': {
    name: 'retried',
    before: rateLimitOnce,
  },
  'Disconnect from a stream – closes the upstream within a second': {
    name: 'disconnect_from_stream',
    after: ({ hanging }, doneMs) => assertClosedWithinSecond(hanging, 'endless', doneMs),
  },
  'Timeout of a silent request – closes the upstream within a second': {
    name: 'timeout_of_silent_request',
    after: ({ hanging }, doneMs) => assertClosedWithinSecond(hanging, 'mute', doneMs),
  },
  'Error within a stream – is raised after the text before it': { name: 'error_in_a_stream' },
  'Truncated stream – is raised as an error after the text before it': { name: 'truncated_stream' },
}

/** Starts end_to_end.py; the returned function runs one scenario and resolves to its error, or null. */
function startPython(
  t: TestContext,
  context: ClientTestServer,
): (scenario: string) => Promise<string | null> {
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { server, rich, poor, limited } = context
  const keys = { rich: rich.key.secret, poor: poor.key.secret, limited: limited.key.secret }
  child.stdin.write(`${JSON.stringify({ url: server.url, ...keys, toolCalls, image })}\n`)
  return async (scenario) => {
    child.stdin.write(`${scenario}\n`)
    const { value, done } = await lines.next()
    assert.ok(done !== true, 'end_to_end.py exited')
    return JSON.parse(value) as string | null
  }
}

const skip = existsSync(python)
  ? false
  : 'OpenAI’s client for Python is not installed (see .ci/run: a virtual environment in clients/openai-python)'

describe('OpenAI client for Python', () => {
  test('OpenAI client for Python – works unchanged', { skip }, async (t) => {
    const context = await startClientTestServer(t)
    const runScenario = startPython(t, context)
    for (const [title, { name, before, after }] of Object.entries(scenarios)) {
      await t.test(title, async () => {
        before?.(context)
        assert.equal(await runScenario(name), null)
        await after?.(context, performance.now())
      })
    }
    await context.server.assertNoOpenHolds()
  })
})
