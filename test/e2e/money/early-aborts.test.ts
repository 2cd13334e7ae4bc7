// @backend both
/** Callers that leave before the first content: free for a few an hour, but counted against the tokens per minute. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseAmount } from '../../../src/lib/money.ts'
import { chatRequest, type Account, type RequestRecord } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { isStreamingRequest, type Script } from '../../support/upstream/exchange.ts'
import { neverRespond } from '../../support/upstream/fault-injection.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer({ env: { FREE_ABORTS_PER_HOUR: '10' } })
const upstream = await server.upstream(respondWith('Hello!', { input: 10, output: 4 }))
await server.model('m', { upstreams: [upstream], prices: ['0.002', '0.008'] })
const inputTokens = Math.ceil('Say hello.'.length / 4)
const inputCost = BigInt(inputTokens) * 2000n

/** More than the buffers of two sockets: once it is written, the caller has read the response's beginning. */
const fillerBytes = 16 * 1024 ** 2

/** Responds with 200 and without content. Resolves `begun` when the relay has read the beginning of the response. */
function beginAndHang(begun: PromiseWithResolvers<void>): Script {
  return async (exchange) => {
    const isStream = isStreamingRequest(exchange.request)
    exchange.head(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    await exchange.write(isStream ? ': filler\n\n'.repeat(fillerBytes / 10) : ' '.repeat(fillerBytes))
    begun.resolve()
    await exchange.request.over
  }
}

/** Sends requests one after another, and leaves each before its first content. Resolves with their records, oldest first. */
async function leaveEarly(
  account: Account,
  {
    count,
    answered,
    stream,
    afterMs = 0,
  }: { count: number; answered: boolean; stream: boolean; afterMs?: number },
): Promise<RequestRecord[]> {
  const before = (await account.requests()).length
  for (let call = 1; call <= count; call += 1) {
    const begun = Promise.withResolvers<void>()
    upstream.next(answered ? beginAndHang(begun) : neverRespond)
    const disconnect = new AbortController()
    const left = account
      .post(chatRequest('m', { stream, max_tokens: 100 }), { signal: disconnect.signal })
      .then((response) => response.text())
    const outcome = assert.rejects(left, { name: 'AbortError' })
    await upstream.nextRequest()
    const sentMs = performance.now()
    if (answered) await begun.promise
    await waitUntil(async () => performance.now() - sentMs >= afterMs, 'the time to leave')
    disconnect.abort()
    await outcome
    await upstream.nextDisconnect()
    await waitUntil(async () => (await account.requests()).length === before + call, 'record')
  }
  return (await account.requests()).slice(0, count).toReversed()
}

const costsOf = (records: readonly RequestRecord[]): bigint[] => records.map(({ cost }) => parseAmount(cost))

describe('Callers that leave before the first content', () => {
  for (const stream of [true, false]) {
    const what = stream ? 'streams' : 'non-streaming requests'
    test(`Twelve ${what} – ten are free, two are charged their estimated input`, async () => {
      const account = await server.account({ balance: '1' })
      const free = await leaveEarly(account, { count: 9, answered: true, stream })
      const last = await leaveEarly(account, { count: 3, answered: true, stream })
      assert.deepEqual(costsOf([...free, ...last]), [...Array<bigint>(10).fill(0n), inputCost, inputCost])
      for (const record of last.slice(1))
        assert.deepEqual(
          [record.outcome, record.usage_source, record.prompt_tokens, record.completion_tokens],
          ['aborted', 'estimate', inputTokens, 0],
        )
      assert.equal(parseAmount(await account.balance()), parseAmount('1') - inputCost * 2n)
      const other = await server.account({ balance: '1' })
      const [first] = await leaveEarly(other, { count: 1, answered: true, stream })
      assert.equal(first?.cost, '0', 'another account has its own')
    })
  }

  for (const stream of [true, false]) {
    const what = stream ? 'stream' : 'non-streaming request'
    test(`A ${what} counts if it is left after a second without a response`, async () => {
      const account = await server.account({ balance: '1' })
      await leaveEarly(account, { count: 10, answered: true, stream })
      const records = await leaveEarly(account, { count: 1, answered: false, stream, afterMs: 1100 })
      assert.deepEqual(costsOf(records), [inputCost])
    })
  }

  test('Upstream that has not responded – stays free after the tenth', async () => {
    const account = await server.account({ balance: '1' })
    const records = await leaveEarly(account, { count: 12, answered: false, stream: true })
    assert.deepEqual(costsOf(records), Array<bigint>(12).fill(0n))
    assert.equal(await account.balance(), '1')
  })

  test('Tokens per minute – stay reserved; complete responses are corrected', async () => {
    const account = await server.account({ balance: '1' })
    await account.change({ limits: { tpm: 150 } })
    const body = chatRequest('m', { max_tokens: 100 })
    await leaveEarly(account, { count: 1, answered: false, stream: false })
    const rejected = await account.post(body)
    assert.equal(rejected.status, 429)
    assert.match(await rejected.text(), /tokens per minute/)

    const patient = await server.account({ balance: '1' })
    await patient.change({ limits: { tpm: 150 } })
    for (let call = 0; call < 3; call += 1) {
      const response = await patient.post(body)
      await response.text()
      assert.equal(response.status, 200)
    }
  })
})
