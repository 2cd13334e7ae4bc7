// @suite all – runs an official client
/** Anthropic's official client for Python, unchanged: runs the scenarios of end_to_end.py and checks them from the upstream's side. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { families, rateLimitOnce, startMessagesTestServer, toolCalls } from '../anthropic-test-server.ts'
import type { Family, MessagesTestServer } from '../anthropic-test-server.ts'
import { maxDisconnectMs } from '../test-server.ts'

const python = fileURLToPath(new URL('.venv/bin/python', import.meta.url))
const script = fileURLToPath(new URL('end_to_end.py', import.meta.url))

/** The functions in end_to_end.py, by test title. */
const scenarios: Readonly<Record<string, string>> = {
  'Message – arrives': 'not_streamed',
  'Base URL – also works with /v1': 'base_url_with_version',
  'Stream – has the same message': 'streamed',
  'Parallel tool calls – arrive, streaming or not, and their results go back': 'tools',
  'Thinking – arrives with its signature and can be sent back': 'thinking',
  'Token counting – returns the input tokens': 'token_counting',
  'Models – are listed page by page and retrieved': 'models',
  'Errors – become the error classes of the client and are retried only if useful': 'errors',
  'Rate-limited upstream – the client retries and gets a response': 'retried',
  'Disconnect from a stream – closes the upstream within a second': 'disconnect_from_stream',
  'Error within a stream – is raised after the text before it': 'error_in_a_stream',
  'Truncated stream – is raised as an error after the text before it': 'truncated_stream',
}

/** Starts end_to_end.py; the returned function runs one scenario and resolves to its error, or null. */
function startPython(
  t: TestContext,
  context: MessagesTestServer,
): (family: Family, scenario: string) => Promise<string | null> {
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { server, rich, poor, limited } = context
  const keys = { rich: rich.key.secret, poor: poor.key.secret, limited: limited.key.secret }
  child.stdin.write(`${JSON.stringify({ url: server.url, ...keys, toolCalls })}\n`)
  return async (family, scenario) => {
    child.stdin.write(`${family} ${scenario}\n`)
    const { value, done } = await lines.next()
    assert.ok(done !== true, 'end_to_end.py exited')
    return JSON.parse(value) as string | null
  }
}

const skip = existsSync(python)
  ? false
  : 'Anthropic’s client for Python is not installed (see .ci/run: a virtual environment in clients/anthropic-python)'

describe('Anthropic client for Python', () => {
  test('Anthropic client for Python – works unchanged', { skip }, async (t) => {
    const context = await startMessagesTestServer(t)
    const runScenario = startPython(t, context)
    for (const family of families) {
      for (const [title, scenario] of Object.entries(scenarios)) {
        await t.test(`${family}: ${title}`, async () => {
          if (scenario === 'retried') rateLimitOnce(context, family)
          assert.equal(await runScenario(family, scenario), null)
          const doneMs = performance.now()
          if (scenario !== 'disconnect_from_stream') return
          const disconnected = await context.upstreams[family].nextDisconnect()
          assert.ok((disconnected.abortedAt ?? Infinity) - doneMs < maxDisconnectMs)
        })
      }
    }
    await context.server.assertNoOpenHolds()
  })
})
