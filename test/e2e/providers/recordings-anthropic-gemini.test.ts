// @backend both (cluster in long runs)
/**
 * Recorded responses of Anthropic and Google, returned in the OpenAI format: the caller gets the same content and pays
 * for the provider's usage, to the nano. The recordings are not part of the project (RECORDINGS_DIR).
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { assemble } from '../../../src/providers/contract.fixture.ts'
import type { Chunk } from '../../../src/providers/provider.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { respondWithJson, respondWithRecordedStream } from '../../support/upstream/scripted-responses.ts'

const folder = process.env['RECORDINGS_DIR'] ?? ''
const skip = existsSync(folder) ? false : 'no recordings of providers (RECORDINGS_DIR is not set)'

/** Taken from the recordings: input, output and reasoning tokens (part of the output), finish reason, start of the text. */
type Invoice = [input: number, output: number, reasoning: number, finish: string, beginning: string]

const invoices: Record<string, { nonStreaming?: Invoice; stream?: Invoice }> = {
  'anthropic/anthropic-text': {
    nonStreaming: [12, 29, 0, 'stop', "Hello! I'm doing well, thanks"],
    stream: [12, 30, 0, 'stop', "Hello! I'm doing well, thank you"],
  },
  'anthropic/anthropic-refusal': {
    nonStreaming: [18, 5, 0, 'content_filter', ''],
    stream: [18, 5, 0, 'content_filter', ''],
  },
  'anthropic/anthropic-tool-no-args': {
    nonStreaming: [602, 93, 0, 'tool_calls', '<thinking>'],
    stream: [565, 48, 0, 'tool_calls', "I'll update the issue list"],
  },
  'anthropic/anthropic-json-other-tool.1': {
    nonStreaming: [843, 28, 0, 'tool_calls', ''],
    stream: [843, 28, 0, 'tool_calls', ''],
  },
  'anthropic/anthropic-claude-opus-5-reasoning-high.1': {
    nonStreaming: [51, 1699, 139, 'stop', '## Step 1'],
  },
  'anthropic/anthropic-message-delta-input-tokens': { stream: [61, 2, 0, 'stop', 'pong'] },
  'google/google-text': {
    nonStreaming: [9, 272, 244, 'stop', 'There are **3**'],
    stream: [9, 208, 185, 'stop', 'There are **3**'],
  },
  'google/google-reasoning': {
    nonStreaming: [9, 311, 282, 'stop', 'There are **3**'],
    stream: [9, 285, 256, 'stop', 'There are **3**'],
  },
  'google/google-tool-call': {
    nonStreaming: [29, 908, 893, 'tool_calls', ''],
    stream: [29, 60, 45, 'tool_calls', ''],
  },
}

describe('Recorded Anthropic and Gemini responses', () => {
  test(
    'Recorded Anthropic and Gemini responses – keep their content and the provider’s cost',
    { skip },
    async (t) => {
      const server = await startTestServer(t)
      const anthropic = await server.upstream(respondWithJson(500, {}), { provider: 'anthropic' })
      const google = await server.upstream(respondWithJson(500, {}), { provider: 'gemini' })
      anthropic.strict('anthropic')
      google.strict('gemini')
      await server.model('anthropic', { prices: ['0.002', '0.008'], upstreams: [anthropic] })
      await server.model('google', { prices: ['0.002', '0.008'], upstreams: [google] })
      const alice = await server.account({ balance: '10' })

      for (const [name, { nonStreaming, stream }] of Object.entries(invoices)) {
        const upstream = name.startsWith('anthropic/') ? anthropic : google
        const model = name.split('/')[0] ?? ''
        for (const [ending, invoice] of [
          ['json', nonStreaming],
          ['chunks.txt', stream],
        ] as const) {
          if (!invoice) continue
          await t.test(`${name}.${ending}`, async () => {
            const text = readFileSync(join(folder, `${name}.${ending}`), 'utf8')
            const isStream = ending === 'chunks.txt'
            upstream.next(
              isStream
                ? respondWithRecordedStream(text.split('\n').filter(Boolean))
                : respondWithJson(200, text),
            )
            const response = await alice.post(chatRequest(model, { stream: isStream }))
            assert.equal(response.status, 200)
            const chunks = isStream
              ? (await readPayloads(response)).slice(0, -1).map((payload) => JSON.parse(payload) as Chunk)
              : [(await response.json()) as Chunk]
            const [input, output, reasoning, finish, beginning] = invoice
            const completion = assemble(chunks)
            assert.ok(completion.text.startsWith(beginning), completion.text.slice(0, 80))
            assert.deepEqual(
              completion.finishes.map(({ reason }) => reason),
              [finish],
            )
            assert.equal(completion.calls.length > 0, finish === 'tool_calls')
            const [record] = await alice.requests({ limit: '1' })
            assert.ok(record)
            assert.equal(BigInt(Math.round(Number(record.cost) * 1e9)), BigInt(input * 2000 + output * 8000))
            const { prompt_tokens: prompt, completion_tokens: completed, reasoning_tokens: reasoned } = record
            assert.deepEqual(
              [prompt, completed, reasoned, record.usage_source],
              [input, output, reasoning, 'provider'],
            )
          })
        }
      }
      await server.assertNoOpenHolds()
    },
  )
})
