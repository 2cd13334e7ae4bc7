// @backend both (cluster in long runs)
/**
 * Recorded responses of providers with the OpenAI format: the caller receives what the provider sent and pays for the
 * provider's usage, to the nano. The recordings are not part of the project (RECORDINGS_DIR).
 */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { readPayloads, chatRequest } from '../../support/server/account.ts'
import type { Account } from '../../support/server/account.ts'
import { parseChunks, waitForRecord } from '../../support/client/responses.ts'
import {
  startTestServer,
  type TestServer,
  type RegisteredUpstream,
} from '../../support/server/test-server.ts'
import { respondWithRecording, respondWith } from '../../support/upstream/scripted-responses.ts'

const folder = process.env['RECORDINGS_DIR'] ?? ''

/** The provider's token counts, taken from the recordings. */
type Invoice = [input: number, cached: number, output: number, reasoning: number]

interface ExpectedUsage {
  nonStreaming: Invoice
  /** Absent if no stream is recorded. */
  stream?: Invoice
  /** The last chunk has only the usage; callers that did not request it do not receive it. */
  hasUsageChunk?: true
}

const recordings: Record<string, ExpectedUsage> = {
  'openai/openai-text': { nonStreaming: [16, 0, 363, 0], stream: [16, 0, 300, 0], hasUsageChunk: true },
  'deepseek/deepseek-json': { nonStreaming: [495, 320, 144, 118] },
  'deepseek/deepseek-tool-call': { nonStreaming: [339, 320, 92, 48], stream: [339, 320, 83, 39] },
  'groq/groq-tool-call': { nonStreaming: [218, 0, 15, 0], stream: [210, 0, 15, 0] },
  'mistral/mistral-text': { nonStreaming: [13, 0, 434, 0], stream: [13, 0, 8, 0] },
  'mistral/mistral-tool-call': { nonStreaming: [124, 0, 22, 0], stream: [124, 0, 22, 0] },
  'alibaba/alibaba-tool-call': {
    nonStreaming: [295, 0, 22, 0],
    stream: [295, 0, 22, 0],
    hasUsageChunk: true,
  },
  'perplexity/perplexity-text': { nonStreaming: [11, 0, 392, 0], stream: [11, 0, 434, 0] },
  // Its completion_tokens exclude the reasoning, as its total_tokens show.
  'openai-compatible/xai-tool-call': {
    nonStreaming: [307, 244, 26 + 255, 255],
    stream: [307, 306, 26 + 227, 227],
    hasUsageChunk: true,
  },
  'moonshotai/moonshotai-text': { nonStreaming: [9, 0, 5, 0] },
  'moonshotai/moonshotai-tool-call': { nonStreaming: [30, 0, 12, 0] },
}

/** Two prices for the same model, in yuan per 1,000 tokens: one with every component, one with only input and output. */
const detailed = {
  input: '0.002001',
  cached_input: '0.000499',
  output: '0.008003',
  reasoning: '0.012007',
  per_request: '0.05',
}
const plain = { input: '0.002001', output: '0.008003' }

function detailedCost([input, cached, output, reasoning]: Invoice): bigint {
  const parts = [(input - cached) * 2001, cached * 499, (output - reasoning) * 8003, reasoning * 12_007]
  return parts.reduce((sum, part) => sum + BigInt(part), parseAmount('0.05'))
}

function plainCost([input, , output]: Invoice): bigint {
  return BigInt(input * 2001 + output * 8003)
}

interface TestContext {
  server: TestServer
  upstream: RegisteredUpstream
  account: Account
}

/** Checks that the request record has the expected usage and cost. */
async function checkBill(
  { account }: TestContext,
  response: Response,
  [invoice, cost]: [Invoice, bigint],
): Promise<void> {
  const record = await waitForRecord(account, response)
  assert.deepEqual([record.outcome, record.usage_source], ['ok', 'provider'])
  const {
    prompt_tokens: input,
    cached_tokens: cached,
    completion_tokens: output,
    reasoning_tokens: reasoning,
  } = record
  assert.deepEqual([input, cached, output, reasoning], invoice)
  assert.equal(parseAmount(record.cost), cost)
}

async function relayNonStreaming(context: TestContext, path: string, invoice: Invoice): Promise<void> {
  const sent = readFileSync(join(folder, `${path}.json`), 'utf8')
  for (const [model, cost] of [
    ['detailed', detailedCost(invoice)],
    ['plain', plainCost(invoice)],
  ] as const) {
    const response = await context.account.post(chatRequest(model))
    assert.equal(await response.text(), sent)
    assert.equal(parseAmount(response.headers.get('x-sluice-cost') ?? ''), cost)
    await checkBill(context, response, [invoice, cost])
  }
}

async function relayStream(context: TestContext, path: string, invoice: Invoice): Promise<void> {
  const sent = readFileSync(join(folder, `${path}.chunks.txt`), 'utf8')
    .split('\n')
    .filter(Boolean)
  const cost = detailedCost(invoice)
  const response = await context.account.post(chatRequest('detailed', { stream: true }))
  const received = await readPayloads(response)
  const expected = recordings[path]?.hasUsageChunk ? sent.slice(0, -1) : sent
  assert.deepEqual(received, [...expected, '[DONE]'])
  await checkBill(context, response, [invoice, cost])

  const options = { stream: true, stream_options: { include_usage: true } }
  const withUsage = await context.account.post(chatRequest('plain', options))
  const payloads = await readPayloads(withUsage)
  assert.deepEqual([...payloads.slice(0, -2), payloads.at(-1)], [...sent.slice(0, -1), '[DONE]'])
  const [last] = parseChunks(payloads).slice(-1)
  assert.equal(parseAmount(String(last?.usage?.['cost'])), plainCost(invoice))
  delete last?.usage?.['cost']
  assert.deepEqual(last, JSON.parse(sent.at(-1) ?? ''))
  await checkBill(context, withUsage, [invoice, plainCost(invoice)])
}

const skip = existsSync(folder) ? false : 'no recordings of providers (RECORDINGS_DIR is not set)'

describe('Recorded OpenAI-format responses', () => {
  test(
    'Recorded OpenAI-format responses – arrive unchanged and cost the provider’s usage',
    { skip },
    async (t) => {
      const server = await startTestServer(t)
      const upstream = await server.upstream(respondWith(''))
      await server.model('detailed', { upstreams: [upstream], prices: detailed })
      await server.model('plain', { upstreams: [upstream], prices: plain })
      for (const [path, { nonStreaming, stream }] of Object.entries(recordings)) {
        await t.test(path, async () => {
          upstream.always(respondWithRecording(join(folder, path)))
          const account = await server.account({ balance: '¥1' })
          const context = { server, upstream, account }
          await relayNonStreaming(context, path, nonStreaming)
          if (stream) await relayStream(context, path, stream)
          const paid = (await account.requests()).reduce((sum, { cost }) => sum + parseAmount(cost), 0n)
          assert.equal(parseAmount(await account.balance()), parseAmount('1') - paid)
        })
      }
      await server.assertNoOpenHolds()
    },
  )
})
