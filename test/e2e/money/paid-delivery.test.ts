// @backend both
/** A stream whose upstream is faster than its payments: what is delivered is paid for, on the first response and on a replay. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseAmount } from '../../../src/lib/money.ts'
import { chatRequest, readPayloads, type Account } from '../../support/server/account.ts'
import { parseChunks, reportedUsage, streamedText, waitForRecord } from '../../support/client/responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { inOneBurst, truncateAfter } from '../../support/upstream/fault-injection.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer({ env: { WORKERS: '2' } })
/** Few and short enough that the relay reads all of them at once. Each word is one token of four characters. */
const deltas = Array.from({ length: 50 }, () => ' abc'.repeat(10))
const words = 500
const full = respondWith(deltas.join(''), { input: 10, output: words }, { deltas })
const upstream = await server.upstream(inOneBurst(full))
const nanosPerWord = 8000n
await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'], max_output_tokens: 8192 })

const request = chatRequest('m', { stream: true, stream_options: { include_usage: true } })
const wordsIn = (text: string): number => text.split(' ').length - 1
const endOf = (payloads: readonly string[]): unknown[] =>
  parseChunks(payloads).flatMap(
    ({ choices }) => choices?.flatMap((choice) => choice.finish_reason ?? []) ?? [],
  )

async function stream(account: Account, headers: Record<string, string> = {}) {
  const response = await account.post(request, { headers })
  const payloads = response.status === 200 ? await readPayloads(response) : []
  return { response, payloads, text: streamedText(payloads) }
}

describe('Stream that is received before it is paid for', () => {
  test('Ten at once with a balance for one – deliver at most what they are charged', async () => {
    const account = await server.account({ balance: '0.01' })
    const streams = await Promise.all(Array.from({ length: 10 }, () => stream(account)))
    const delivered = streams.reduce((sum, { text }) => sum + wordsIn(text), 0)
    assert.ok(delivered > 0)
    const charged = parseAmount('0.01') - parseAmount(await account.balance())
    assert.ok(BigInt(delivered) * nanosPerWord <= charged, `${delivered} words for ${charged}`)
    for (const { response, payloads, text } of streams.filter((each) => each.response.status === 200)) {
      const record = await waitForRecord(account, response)
      const end = wordsIn(text) === words ? ['ok', 'stop'] : ['ended', 'length']
      assert.deepEqual([record.outcome, ...endOf(payloads), payloads.at(-1)], [...end, '[DONE]'])
      assert.ok(
        BigInt(wordsIn(text)) * nanosPerWord <= parseAmount(record.cost),
        `${text} for ${record.cost}`,
      )
      assert.deepEqual(
        reportedUsage(payloads).map(({ cost }) => cost),
        [Number(record.cost)],
      )
    }
    assert.equal((await server.verify()).ok, true)
  })

  test('One with enough money – is complete and unchanged', async () => {
    const account = await server.account({ balance: '1' })
    const { response, payloads, text } = await stream(account)
    assert.deepEqual([text, endOf(payloads), payloads.at(-1)], [deltas.join(''), ['stop'], '[DONE]'])
    const { outcome, cost } = await waitForRecord(account, response)
    assert.deepEqual([outcome, parseAmount(cost)], ['ok', 10n * 2000n + BigInt(words) * nanosPerWord])
  })

  test('With an Idempotency-Key – stores and replays no more than is paid', async () => {
    const account = await server.account({ balance: '0.002' })
    const headers = { 'idempotency-key': 'burst' }
    const first = await stream(account, headers)
    const again = await stream(account, headers)
    assert.equal(again.response.headers.get('idempotent-replayed'), 'true')
    assert.deepEqual(
      [again.text, again.payloads.at(-1), endOf(again.payloads)],
      [first.text, '[DONE]', ['length']],
    )
    const { cost } = await waitForRecord(account, first.response)
    assert.ok(BigInt(wordsIn(again.text)) * nanosPerWord <= parseAmount(cost))
    assert.ok(wordsIn(first.text) > 0)
  })

  test('That breaks off – delivers at most what is paid, too', async () => {
    const account = await server.account({ balance: '0.002' })
    upstream.next(inOneBurst(truncateAfter(deltas.length, 'end', full)))
    const { response, text } = await stream(account)
    const { cost } = await waitForRecord(account, response)
    assert.ok(wordsIn(text) > 0 && BigInt(wordsIn(text)) * nanosPerWord <= parseAmount(cost))
  })
})
