// @backend both (cluster in long runs)
/**
 * Recorded responses of embeddings, completions and the Responses API: the caller receives what the provider sent and
 * pays for the provider's usage. The recordings are not part of the project (RECORDINGS_DIR).
 */

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { waitForRecord } from '../../support/client/responses.ts'
import { readPayloads } from '../../support/server/account.ts'
import { withoutHolders } from '../../support/client/responses-api.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import {
  respondWith,
  respondWithJson,
  respondWithRecordedStream,
} from '../../support/upstream/scripted-responses.ts'

const folder = process.env['RECORDINGS_DIR'] ?? ''
const skip = existsSync(join(folder, 'responses')) ? false : 'needs RECORDINGS_DIR'
const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008' }
const upstream = await server.upstream(respondWith('Unused.'), { speaks: ['responses'] })
const account = await server.account({ balance: '¥100' })
await server.admin('POST', '/models', {
  id: 'all',
  operations: ['chat', 'completions', 'embeddings'],
  context_tokens: 131_072,
  prices,
  routes: [{ upstream: upstream.id, model: 'all' }],
})

function readRecording(name: string): string {
  return readFileSync(join(folder, name), 'utf8')
}

function payloadsOf(name: string): string[] {
  return readRecording(name).split('\n').filter(Boolean)
}

describe('Recordings of operations', () => {
  for (const [name, path, fields, tokens] of [
    ['embeddings/openai-embedding', '/v1/embeddings', { input: ['a', 'b'] }, [12, 0]],
    ['completions/openai-completion-text', '/v1/completions', { prompt: 'Invent a holiday.' }, [14, 16]],
  ] as const) {
    test(`${name} – passes as it came and is charged`, { skip }, async () => {
      const recorded = readRecording(`${name}.json`)
      upstream.next(respondWithJson(200, recorded))
      const response = await account.post({ model: 'all', ...fields }, { path })
      assert.deepEqual(await response.json(), JSON.parse(recorded))
      const record = await waitForRecord(account, response)
      assert.deepEqual([record.prompt_tokens, record.completion_tokens], tokens)
    })
  }

  test('completions – a recorded stream passes as it came', { skip }, async () => {
    const payloads = payloadsOf('completions/openai-completion-text.chunks.txt')
    upstream.next(respondWithRecordedStream(payloads))
    const fields = { prompt: 'Invent a holiday.', stream: true, stream_options: { include_usage: true } }
    const received = await readPayloads(
      await account.post({ model: 'all', ...fields }, { path: '/v1/completions' }),
    )
    const texts = (list: readonly string[]): unknown[] =>
      list
        .filter((each) => each.startsWith('{'))
        .flatMap((each) => (JSON.parse(each) as { choices: { text: string }[] }).choices)
        .map(({ text }) => text)
    assert.deepEqual(texts(received), texts(payloads))
  })

  const names = skip === false ? readdirSync(join(folder, 'responses')) : []
  for (const name of names.filter((each) => each.endsWith('.json'))) {
    test(`responses/${name} – passes as it came and is charged`, { skip }, async () => {
      const recorded = JSON.parse(readRecording(`responses/${name}`)) as {
        status?: string
        error?: object | null
        usage?: { input_tokens: number; output_tokens: number }
      }
      upstream.next(respondWithJson(200, recorded))
      const response = await account.post(
        { model: 'all', input: 'Hi', max_output_tokens: 16_000 },
        { path: '/v1/responses' },
      )
      if (recorded.error) {
        assert.equal(response.status, 503)
        return
      }
      assert.deepEqual(JSON.parse(withoutHolders(await response.text())), recorded)
      const record = await waitForRecord(account, response)
      assert.equal(record.operation, 'responses')
      assert.deepEqual(
        [record.prompt_tokens, record.completion_tokens],
        [recorded.usage?.input_tokens, recorded.usage?.output_tokens],
      )
    })
  }

  for (const name of names.filter((each) => each.endsWith('.chunks.txt'))) {
    // The first and the last event of one recording are cut; of others, only the first response is replayed.
    if (name.startsWith('parallel-tool-call-wrapper')) continue
    test(`responses/${name} – its events pass as they came`, { skip }, async () => {
      const all = payloadsOf(`responses/${name}`)
      const next = all.findIndex((each, index) => index > 0 && each.startsWith('{"type":"response.created"'))
      const payloads = next === -1 ? all : all.slice(0, next)
      upstream.next(respondWithRecordedStream(payloads))
      const body = { model: 'all', input: 'Hi', stream: true }
      const response = await account.post(body, { path: '/v1/responses' })
      if (payloads.some((each) => each.startsWith('{"type":"error"'))) {
        assert.match(await response.text(), /"error"/)
        return
      }
      const received = withoutHolders(await response.text())
      assert.equal(received, payloads.map((payload) => `data: ${payload}\n\n`).join(''))
      assert.equal((await waitForRecord(account, response)).outcome, 'ok')
    })
  }
})
