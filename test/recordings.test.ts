/**
 * True answers of providers of the common format, relayed: the caller receives what the provider sent, and pays what the
 * provider's own usage costs, to the nano. The recordings lie beside the project (RECORDINGS_DIR).
 */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { nanosOf } from '../src/lib/money.ts'
import { payloadsOf, question } from './support/server/account.ts'
import type { Account } from './support/server/account.ts'
import { chunksOf, recordOf } from './support/client/responses.ts'
import { openHouse, type House, type KnownUpstream } from './support/server/test-server.ts'
import { recorded, saying } from './support/upstream/scripted-responses.ts'

const folder = process.env['RECORDINGS_DIR'] ?? ''

/** Tokens as the provider's invoice has them, read from the recordings by hand. */
type Invoice = [input: number, cached: number, output: number, reasoning: number]

interface Recording {
  whole: Invoice
  /** Absent: there is no recording of a stream. */
  stream?: Invoice
  /** The last chunk has nothing but the usage; callers who did not ask for it do not see it. */
  hasUsageChunk?: true
}

const recordings: Record<string, Recording> = {
  'openai/openai-text': { whole: [16, 0, 363, 0], stream: [16, 0, 300, 0], hasUsageChunk: true },
  'deepseek/deepseek-json': { whole: [495, 320, 144, 118] },
  'deepseek/deepseek-tool-call': { whole: [339, 320, 92, 48], stream: [339, 320, 83, 39] },
  'groq/groq-tool-call': { whole: [218, 0, 15, 0], stream: [210, 0, 15, 0] },
  'mistral/mistral-text': { whole: [13, 0, 434, 0], stream: [13, 0, 8, 0] },
  'mistral/mistral-tool-call': { whole: [124, 0, 22, 0], stream: [124, 0, 22, 0] },
  'alibaba/alibaba-tool-call': { whole: [295, 0, 22, 0], stream: [295, 0, 22, 0], hasUsageChunk: true },
  'perplexity/perplexity-text': { whole: [11, 0, 392, 0], stream: [11, 0, 434, 0] },
  // Its completion_tokens are without the reasoning, as its total_tokens show.
  'openai-compatible/xai-tool-call': {
    whole: [307, 244, 26 + 255, 255],
    stream: [307, 306, 26 + 227, 227],
    hasUsageChunk: true,
  },
  'moonshotai/moonshotai-text': { whole: [9, 0, 5, 0] },
  'moonshotai/moonshotai-tool-call': { whole: [30, 0, 12, 0] },
}

/** Two ways to price the same model: everything apart, and only what every model has. Yuan per 1,000 tokens. */
const apart = {
  input: '0.002001',
  cached_input: '0.000499',
  output: '0.008003',
  reasoning: '0.012007',
  per_request: '0.05',
}
const plain = { input: '0.002001', output: '0.008003' }

function costApart([input, cached, output, reasoning]: Invoice): bigint {
  const parts = [(input - cached) * 2001, cached * 499, (output - reasoning) * 8003, reasoning * 12_007]
  return parts.reduce((sum, part) => sum + BigInt(part), nanosOf('0.05'))
}

function costPlain([input, , output]: Invoice): bigint {
  return BigInt(input * 2001 + output * 8003)
}

interface Scene {
  house: House
  upstream: KnownUpstream
  account: Account
}

/** The record of an answered request shows the invoice, and its cost is what the account has paid. */
async function checkBill(
  { account }: Scene,
  reply: Response,
  [invoice, cost]: [Invoice, bigint],
): Promise<void> {
  const record = await recordOf(account, reply)
  assert.deepEqual([record.outcome, record.usage_source], ['ok', 'provider'])
  const {
    prompt_tokens: input,
    cached_tokens: cached,
    completion_tokens: output,
    reasoning_tokens: reasoning,
  } = record
  assert.deepEqual([input, cached, output, reasoning], invoice)
  assert.equal(nanosOf(record.cost), cost)
}

async function relayWhole(scene: Scene, path: string, invoice: Invoice): Promise<void> {
  const sent = readFileSync(join(folder, `${path}.json`), 'utf8')
  for (const [model, cost] of [
    ['apart', costApart(invoice)],
    ['plain', costPlain(invoice)],
  ] as const) {
    const reply = await scene.account.post(question(model))
    assert.equal(await reply.text(), sent)
    assert.equal(nanosOf(reply.headers.get('x-sluice-cost') ?? ''), cost)
    await checkBill(scene, reply, [invoice, cost])
  }
}

async function relayStream(scene: Scene, path: string, invoice: Invoice): Promise<void> {
  const sent = readFileSync(join(folder, `${path}.chunks.txt`), 'utf8')
    .split('\n')
    .filter(Boolean)
  const cost = costApart(invoice)
  const reply = await scene.account.post(question('apart', { stream: true }))
  const received = await payloadsOf(reply)
  const expected = recordings[path]?.hasUsageChunk ? sent.slice(0, -1) : sent
  assert.deepEqual(received, [...expected, '[DONE]'])
  await checkBill(scene, reply, [invoice, cost])

  const options = { stream: true, stream_options: { include_usage: true } }
  const asked = await scene.account.post(question('plain', options))
  const told = await payloadsOf(asked)
  assert.deepEqual([...told.slice(0, -2), told.at(-1)], [...sent.slice(0, -1), '[DONE]'])
  const [last] = chunksOf(told).slice(-1)
  assert.equal(nanosOf(String(last?.usage?.['cost'])), costPlain(invoice))
  delete last?.usage?.['cost']
  assert.deepEqual(last, JSON.parse(sent.at(-1) ?? ''))
  await checkBill(scene, asked, [invoice, costPlain(invoice)])
}

const skip = existsSync(folder) ? false : 'no recordings of providers (RECORDINGS_DIR is not set)'

test(
  'what providers have said arrives as they said it, whole and streamed, and costs what their usage costs',
  { skip },
  async (t) => {
    const house = await openHouse(t)
    const upstream = await house.upstream(saying(''))
    await house.model('apart', { upstreams: [upstream], prices: apart })
    await house.model('plain', { upstreams: [upstream], prices: plain })
    for (const [path, { whole, stream }] of Object.entries(recordings)) {
      await t.test(path, async () => {
        upstream.always(recorded(join(folder, path)))
        const account = await house.account({ balance: '¥1' })
        const scene = { house, upstream, account }
        await relayWhole(scene, path, whole)
        if (stream) await relayStream(scene, path, stream)
        const paid = (await account.requests()).reduce((sum, { cost }) => sum + nanosOf(cost), 0n)
        assert.equal(nanosOf(await account.balance()), nanosOf('1') - paid)
      })
    }
    await house.nothingHeld()
  },
)
