/**
 * True answers of Anthropic and Google, relayed in the common format: the caller reads what was said, and pays what the
 * provider's own usage costs, to the nano. The recordings lie beside the project (RECORDINGS_DIR).
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { assembled } from '../src/providers/contract.fixture.ts'
import type { Chunk } from '../src/providers/provider.ts'
import { payloadsOf, question } from './support/server/account.ts'
import { openHouse } from './support/server/test-server.ts'
import { json, recordedStream } from './support/upstream/scripted-responses.ts'

const folder = process.env['RECORDINGS_DIR'] ?? ''
const skip = existsSync(folder) ? false : 'no recordings of providers (RECORDINGS_DIR is not set)'

/** Read by hand from the recordings: tokens in, out and thought (part of out), the finish, the beginning of the answer. */
type Invoice = [input: number, output: number, reasoning: number, finish: string, beginning: string]

const invoices: Record<string, { whole?: Invoice; stream?: Invoice }> = {
  'anthropic/anthropic-text': {
    whole: [12, 29, 0, 'stop', "Hello! I'm doing well, thanks"],
    stream: [12, 30, 0, 'stop', "Hello! I'm doing well, thank you"],
  },
  'anthropic/anthropic-refusal': {
    whole: [18, 5, 0, 'content_filter', ''],
    stream: [18, 5, 0, 'content_filter', ''],
  },
  'anthropic/anthropic-tool-no-args': {
    whole: [602, 93, 0, 'tool_calls', '<thinking>'],
    stream: [565, 48, 0, 'tool_calls', "I'll update the issue list"],
  },
  'anthropic/anthropic-json-other-tool.1': {
    whole: [843, 28, 0, 'tool_calls', ''],
    stream: [843, 28, 0, 'tool_calls', ''],
  },
  'anthropic/anthropic-claude-opus-5-reasoning-high.1': { whole: [51, 1699, 139, 'stop', '## Step 1'] },
  'anthropic/anthropic-message-delta-input-tokens': { stream: [61, 2, 0, 'stop', 'pong'] },
  'google/google-text': {
    whole: [9, 272, 244, 'stop', 'There are **3**'],
    stream: [9, 208, 185, 'stop', 'There are **3**'],
  },
  'google/google-reasoning': {
    whole: [9, 311, 282, 'stop', 'There are **3**'],
    stream: [9, 285, 256, 'stop', 'There are **3**'],
  },
  'google/google-tool-call': {
    whole: [29, 908, 893, 'tool_calls', ''],
    stream: [29, 60, 45, 'tool_calls', ''],
  },
}

test('what Anthropic and Google have said is read and paid as they count it', { skip }, async (t) => {
  const house = await openHouse(t)
  const anthropic = await house.upstream(json(500, {}), { provider: 'anthropic' })
  const google = await house.upstream(json(500, {}), { provider: 'gemini' })
  await house.model('anthropic', { prices: ['0.002', '0.008'], upstreams: [anthropic] })
  await house.model('google', { prices: ['0.002', '0.008'], upstreams: [google] })
  const alice = await house.account({ balance: '10' })

  for (const [name, { whole, stream }] of Object.entries(invoices)) {
    const upstream = name.startsWith('anthropic/') ? anthropic : google
    const model = name.split('/')[0] ?? ''
    for (const [ending, invoice] of [
      ['json', whole],
      ['chunks.txt', stream],
    ] as const) {
      if (!invoice) continue
      await t.test(`${name}.${ending}`, async () => {
        const text = readFileSync(join(folder, `${name}.${ending}`), 'utf8')
        const isStream = ending === 'chunks.txt'
        upstream.next(isStream ? recordedStream(text.split('\n').filter(Boolean)) : json(200, text))
        const reply = await alice.post(question(model, { stream: isStream }))
        assert.equal(reply.status, 200)
        const chunks = isStream
          ? (await payloadsOf(reply)).slice(0, -1).map((payload) => JSON.parse(payload) as Chunk)
          : [(await reply.json()) as Chunk]
        const [input, output, reasoning, finish, beginning] = invoice
        const said = assembled(chunks)
        assert.ok(said.text.startsWith(beginning), said.text.slice(0, 80))
        assert.deepEqual(
          said.finishes.map(({ reason }) => reason),
          [finish],
        )
        assert.equal(said.calls.length > 0, finish === 'tool_calls')
        const [record] = await alice.requests({ limit: '1' })
        assert.ok(record)
        assert.equal(BigInt(Math.round(Number(record.cost) * 1e9)), BigInt(input * 2000 + output * 8000))
        const { prompt_tokens: told, completion_tokens: written, reasoning_tokens: thought } = record
        assert.deepEqual(
          [told, written, thought, record.usage_source],
          [input, output, reasoning, 'provider'],
        )
      })
    }
  }
  await house.nothingHeld()
})
