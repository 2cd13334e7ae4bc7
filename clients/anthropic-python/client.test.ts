/** Anthropic's official client for Python, unchanged: tells stories.py which story to act, and looks at it from upstream. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { families, makeBusyOnce, openMessagesStage, toolCalls } from '../anthropic-test-server.ts'
import type { Family, MessagesStage } from '../anthropic-test-server.ts'

const python = fileURLToPath(new URL('.venv/bin/python', import.meta.url))
const script = fileURLToPath(new URL('stories.py', import.meta.url))

/** What each function in stories.py guarantees. */
const stories: Readonly<Record<string, string>> = {
  'a whole answer arrives': 'whole',
  'the base address also works with /v1': 'base_address_with_version',
  'a stream says the same message': 'streamed',
  'parallel tool calls arrive whole and streamed, and their results go back': 'tools',
  'thinking arrives with its signature and may be sent back': 'thinking',
  'tokens are counted': 'counted',
  'models are listed, page by page, and told one by one': 'models',
  'every refusal becomes the class that the client has for it, and is retried only where that helps':
    'refusals',
  'a busy upstream is asked again by the client, which then gets its answer': 'retried',
  'a client that leaves a stream ends it upstream within a second': 'leaving_a_stream',
  'an error in the middle of a stream is raised after the words before it': 'error_in_a_stream',
  'a stream that is cut short is raised after the words before it': 'cut_stream',
}

/** Starts stories.py; the answer acts one story and resolves to what went wrong, or null. */
function startPython(
  t: TestContext,
  stage: MessagesStage,
): (family: Family, story: string) => Promise<string | null> {
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { house, rich, poor, limited } = stage
  const keys = { rich: rich.key.secret, poor: poor.key.secret, limited: limited.key.secret }
  child.stdin.write(`${JSON.stringify({ url: house.url, ...keys, toolCalls })}\n`)
  return async (family, story) => {
    child.stdin.write(`${family} ${story}\n`)
    const { value, done } = await answers.next()
    assert.ok(done !== true, 'stories.py ended')
    return JSON.parse(value) as string | null
  }
}

const skip = existsSync(python)
  ? false
  : 'Anthropic’s client for Python is not installed (see .ci/run: a virtual environment in clients/anthropic-python)'

test('Anthropic’s official client for Python works unchanged', { skip }, async (t) => {
  const stage = await openMessagesStage(t)
  const act = startPython(t, stage)
  for (const family of families) {
    for (const [guarantee, story] of Object.entries(stories)) {
      await t.test(`${family}: ${guarantee}`, async () => {
        if (story === 'retried') makeBusyOnce(stage, family)
        assert.equal(await act(family, story), null)
        const doneMs = performance.now()
        if (story !== 'leaving_a_stream') return
        const left = await stage.upstreams[family].sawClose()
        assert.ok((left.abortedAt ?? Infinity) - doneMs < 1000)
      })
    }
  }
  await stage.house.nothingHeld()
})
