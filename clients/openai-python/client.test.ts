/** The official client for Python, unchanged: tells stories.py which story to act, and looks at it from upstream. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

import { image, makeBusyOnce, openStage, schema, toolCalls } from '../stage.ts'
import type { Stage } from '../stage.ts'
import type { KnownUpstream } from '../../test/support/server/test-server.ts'

const python = fileURLToPath(new URL('.venv/bin/python', import.meta.url))
const script = fileURLToPath(new URL('stories.py', import.meta.url))

/** One of the functions in stories.py, and what has to be seen from the other side. */
interface Story {
  readonly name: string
  readonly before?: (stage: Stage) => void
  /** Told when the client was done, on the clock of `performance.now()`. */
  readonly after?: (stage: Stage, doneMs: number) => Promise<void> | void
}

async function closedWithinASecond(upstream: KnownUpstream, model: string, leftMs: number): Promise<void> {
  const left = await upstream.sawClose()
  assert.equal(left.json['model'], model)
  assert.ok((left.abortedAt ?? Infinity) - leftMs < 1000)
}

const stories: Record<string, Story> = {
  'a whole answer arrives, and its price leaves the balance': {
    name: 'whole',
    after: async ({ rich }) => assert.equal(Number(await rich.balance()), 9.9978),
  },
  'the base address also works without /v1': { name: 'base_address_without_version' },
  'a stream says the same words, without usage where none was asked': { name: 'streamed' },
  'a stream tells its usage, and its cost, last where it was asked': { name: 'streamed_with_usage' },
  'parallel tool calls arrive whole and streamed, and their results go back': {
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
  'an image in a data URL reaches the upstream untouched': {
    name: 'images',
    after: ({ upstream }) =>
      assert.partialDeepStrictEqual(upstream.requests.at(-1)?.json['messages'], [
        { role: 'user', content: [{ type: 'text' }, { type: 'image_url', image_url: { url: image } }] },
      ]),
  },
  'a JSON schema and fields of any kind reach the upstream untouched': {
    name: 'json_schema',
    after({ upstream }) {
      const { response_format: format, ...sent } = upstream.requests.at(-1)?.json ?? {}
      const { required, additionalProperties } = schema
      assert.partialDeepStrictEqual(format, { json_schema: { schema: { required, additionalProperties } } })
      assert.partialDeepStrictEqual(sent, { seed: 7, field_of_tomorrow: { deep: [1, null] } })
    },
  },
  'the models of a key are listed and told one by one': { name: 'models' },
  'every refusal becomes the class that the client has for it': { name: 'refusals' },
  'a refusal that says not to retry is not retried': { name: 'not_retried' },
  'a busy upstream is asked again by the client, which then gets its answer': {
    name: 'retried',
    before: makeBusyOnce,
  },
  'a client that leaves a stream ends it upstream within a second': {
    name: 'leaving_a_stream',
    after: ({ patient }, doneMs) => closedWithinASecond(patient, 'endless', doneMs),
  },
  'a client that gives up on a silent call ends it upstream within a second': {
    name: 'leaving_a_silent_call',
    after: ({ patient }, doneMs) => closedWithinASecond(patient, 'mute', doneMs),
  },
  'an error in the middle of a stream is raised after the words before it': { name: 'error_in_a_stream' },
  'a stream that is cut short is raised after the words before it': { name: 'cut_stream' },
}

/** Starts stories.py; the answer acts one story and resolves to what went wrong, or null. */
function startPython(t: TestContext, stage: Stage): (story: string) => Promise<string | null> {
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { house, rich, poor, limited } = stage
  const keys = { rich: rich.key.secret, poor: poor.key.secret, limited: limited.key.secret }
  child.stdin.write(`${JSON.stringify({ url: house.url, ...keys, toolCalls, image })}\n`)
  return async (story) => {
    child.stdin.write(`${story}\n`)
    const { value, done } = await answers.next()
    assert.ok(done !== true, 'stories.py ended')
    return JSON.parse(value) as string | null
  }
}

const skip = existsSync(python)
  ? false
  : 'the official client for Python is not installed (see .ci/run: a virtual environment in clients/openai-python)'

test('the official client for Python works unchanged', { skip }, async (t) => {
  const stage = await openStage(t)
  const act = startPython(t, stage)
  for (const [guarantee, { name, before, after }] of Object.entries(stories)) {
    await t.test(guarantee, async () => {
      before?.(stage)
      assert.equal(await act(name), null)
      await after?.(stage, performance.now())
    })
  }
  await stage.house.nothingHeld()
})
