// @backend both
/** Invoices of providers for more than the request can have: the bound is charged, the rest is the operator's overrun. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { parseAmount } from '../../../src/lib/money.ts'
import { chatRequest } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { startTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

/** Tokens that a provider may add to a prompt. */
const addedTokens = 1024
const body = chatRequest('m', { max_tokens: 10 })

type Case = [claim: Record<string, unknown>, input: number | 'bound', output: number]
const cases: Case[] = [
  [{ prompt_tokens: 99_999, completion_tokens: 99_999 }, 'bound', 10],
  [{ prompt_tokens: '99999', completion_tokens: '99999' }, 'bound', 10],
  [{ prompt_tokens: 10, completion_tokens: 1e308 }, 10, 10],
  [
    {
      prompt_tokens: 10,
      completion_tokens: 0,
      total_tokens: 1e6,
      completion_tokens_details: { reasoning_tokens: 999_990 },
    },
    10,
    10,
  ],
  [{ prompt_tokens: 10, completion_tokens: 7, server_tool_use: { web_search_requests: 1e9 } }, 10, 7],
  [{ prompt_tokens: 10, completion_tokens: 7, num_search_queries: 3 }, 10, 7],
  [{ prompt_tokens: 1e300, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 0 } }, 'bound', 3],
]
/** Not readable: the relay's own estimate is charged, at most the asked maximum at which the upstream says it ended. */
const unreadable: Record<string, unknown>[] = [
  { prompt_tokens: -5, completion_tokens: 99_999 },
  { prompt_tokens: null, completion_tokens: 'NaN', total_tokens: 1e6 },
]

describe('False invoices', () => {
  for (const stream of [false, true]) {
    test(`Claims beyond the request – charge its bound, ${stream ? 'streaming' : 'non-streaming'}`, async (t) => {
      const server = await startTestServer(t)
      const upstream = await server.upstream(respondWith('Hello!'))
      const prices = { input: '0.01', output: '0.02', per_search: '0.1' }
      await server.model('m', { upstreams: [upstream], prices, context_tokens: 100_000 })
      let overrun = 0n
      for (const [raw, input, output] of cases) {
        const account = await server.account({ balance: '¥200' })
        upstream.next(respondWith('one two three four five six seven', { raw }))
        const sent = { ...body, stream }
        const response = await account.post(sent)
        await response.text()
        const record = await waitForRecord(account, response)
        const chargedInput = input === 'bound' ? JSON.stringify(sent).length + addedTokens : input
        const cost = BigInt(chargedInput) * 10_000n + BigInt(output) * 20_000n
        const title = JSON.stringify(raw)
        assert.equal(parseAmount(record.cost), cost, title)
        assert.equal(parseAmount(await account.balance()), parseAmount('200') - cost, title)
        assert.deepEqual([record.clamped, record.usage_clamped], [true, true], title)
        const claimed =
          BigInt(record.prompt_tokens) * 10_000n +
          BigInt(record.completion_tokens) * 20_000n +
          BigInt(record.searches) * parseAmount('0.1')
        overrun += claimed - cost
        const verified = await server.verify()
        assert.deepEqual([verified.ok, parseAmount(verified.overrun)], [true, overrun], title)
      }
      for (const raw of unreadable) {
        const account = await server.account({ balance: '¥1' })
        upstream.next(respondWith('word '.repeat(200), { raw }, { finish: 'length' }))
        const response = await account.post({ ...body, stream })
        await response.text()
        const record = await waitForRecord(account, response)
        assert.deepEqual(
          [record.prompt_tokens, record.completion_tokens, record.usage_source, record.clamped],
          [3, 10, 'estimate', false],
        )
      }
    })
  }

  test('Honest claims – pass: tools, a maximum that was used up, several results', async (t) => {
    const server = await startTestServer(t)
    const upstream = await server.upstream(respondWith('Hello!'))
    await server.model('m', { upstreams: [upstream], prices: ['0.01', '0.02'] })
    const account = await server.account({ balance: '¥10' })
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
    for (const [fields, raw] of [
      [{ tools }, { prompt_tokens: 850, completion_tokens: 50 }],
      [{ max_tokens: 10 }, { prompt_tokens: 12, completion_tokens: 10 }],
      [
        { max_tokens: 10, n: 3 },
        { prompt_tokens: 12, completion_tokens: 30 },
      ],
    ] as const) {
      upstream.next(respondWith('Hello!', { raw }))
      const response = await account.post(chatRequest('m', fields))
      await response.text()
      const record = await waitForRecord(account, response)
      const cost = BigInt(raw.prompt_tokens * 10_000 + raw.completion_tokens * 20_000)
      assert.deepEqual([parseAmount(record.cost), record.clamped], [cost, false])
    }
    assert.equal((await server.verify()).overrun, '0')
  })
})
