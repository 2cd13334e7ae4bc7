// @backend postgres – starts its own cluster
// @suite all – starts PostgreSQL and sends hundreds of requests
/** Hostile text and numbers in the same batches as the requests of other accounts, which must not notice. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { postgresSkipReason } from '../../src/db/postgres/postgres.fixture.ts'
import { hostileTexts } from '../../src/ledger/hostile-text.fixture.ts'
import { isValidText } from '../../src/lib/valid-text.ts'
import type { List } from '../support/client/admin-api.ts'
import { trials } from '../support/runner/suite.ts'
import { chatRequest, type Account } from '../support/server/account.ts'
import { sharedCluster, type Cluster } from '../support/server/cluster.ts'
import { isStreamingRequest, type Script } from '../support/upstream/exchange.ts'
import { respondWith, respondWithEvents, respondWithJson } from '../support/upstream/scripted-responses.ts'

const skip = postgresSkipReason
const rounds = trials({ short: 2, all: 6 })
const otherCount = 4

/** Counts of tokens that are no counts, or that no column can store. */
const hostileCounts: readonly unknown[] = [1e308, -1, 2 ** 53, 2 ** 63, 0.5, '12', null, true, [], {}]

/** Responds with the hostile text that the request names, in every field that the relay reads. */
const respondWithHostileText: Script = (exchange) => {
  const index = Number(/text (\d+)/.exec(exchange.request.text)?.[1])
  const text = hostileTexts[index] ?? ''
  const count = hostileCounts[index % hostileCounts.length]
  const response = { id: text, object: text, created: count, model: text, system_fingerprint: text }
  const usage = { prompt_tokens: count, completion_tokens: count, total_tokens: count }
  if (!isStreamingRequest(exchange.request)) {
    const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: text }]
    return respondWithJson(200, { ...response, choices, usage })(exchange)
  }
  const chunk = { ...response, choices: [{ index: 0, delta: { content: text }, finish_reason: null }] }
  const last = { ...response, choices: [{ index: 0, delta: {}, finish_reason: text }], usage }
  return respondWithEvents([JSON.stringify(chunk), JSON.stringify(last), '[DONE]'])(exchange)
}

let cluster: Cluster
if (skip === false) cluster = await sharedCluster(1, { WORKERS: '2' })

/** Everything hostile that one text allows, as statuses: none may be our error. */
async function sendHostile(account: Account, index: number, round: number): Promise<void> {
  const { relay } = cluster.server
  const text = hostileTexts[index] ?? ''
  const messages = [{ role: 'user', content: `text ${index}` }]
  const echoed = chatRequest('hostile', { messages, stream: round % 2 === 1 })
  const headers = { 'idempotency-key': `${round}-${index}` }
  const credit = { amount: '0.01', reason: text, idempotency_key: `${round} ${text}` }
  const [echo, unknown, credited] = await Promise.all([
    account.post(echoed, { headers }),
    account.post(chatRequest(text)),
    relay.adminResponse('POST', `/accounts/${account.id}/credits`, credit),
  ])
  assert.equal(echo.status, 200, `${index}: ${await echo.text()}`)
  assert.ok([400, 404].includes(unknown.status), `${index}: ${unknown.status} ${await unknown.text()}`)
  const isAccepted = isValidText(text) && text.trim().length <= 500 && text.length < 190
  if (isAccepted) assert.equal(credited.status, 201, `${index}: ${await credited.text()}`)
  else assert.ok([201, 400].includes(credited.status), `${index}: ${credited.status}`)
}

async function sendOrdinary(account: Account, stream: boolean): Promise<void> {
  const response = await account.post(chatRequest('ordinary', { stream }))
  const text = await response.text()
  assert.equal(response.status, 200, text)
  assert.match(text, /Hello/)
  if (stream) assert.ok(text.endsWith('data: [DONE]\n\n'))
}

describe('Hostile text in batches on PostgreSQL', () => {
  test(
    `${rounds} rounds – requests of other accounts are answered; the ledger adds up`,
    { skip },
    async () => {
      const { server } = cluster
      const ordinary = await server.upstream(respondWith('Hello!'))
      await server.model('ordinary', { upstreams: [ordinary] })
      const echo = await server.upstream(respondWithHostileText)
      await server.model('hostile', { upstreams: [echo] })
      // An account for each text: after a false usage, requests of an account run one at a time.
      const hostile = await Promise.all(
        Array.from({ length: hostileTexts.length }, () => server.account({ balance: '1000000' })),
      )
      const others = await Promise.all(
        Array.from({ length: otherCount }, () => server.account({ balance: '100' })),
      )
      for (let round = 0; round < rounds; round += 1) {
        await Promise.all(
          hostileTexts.flatMap((_, index) => {
            const other = others[index % otherCount]
            const one = hostile[index]
            assert.ok(other && one)
            return [sendHostile(one, index, round), sendOrdinary(other, false), sendOrdinary(other, true)]
          }),
        )
      }
      await server.assertNoOpenHolds()
      for (const other of others) {
        const records = await other.requests({ limit: '1000' })
        assert.ok(records.every(({ outcome }) => outcome === 'ok'))
      }
      const lists = await Promise.all(
        hostile.map(({ id }) => server.admin<List>('GET', `/accounts/${id}/entries?limit=1000`)),
      )
      const reasons = new Set(lists.flatMap(({ data }) => data.map((entry) => entry['reason'])))
      const kept = hostileTexts.filter((text) => isValidText(text) && text.length < 190)
      for (const text of kept) assert.ok(reasons.has(text.trim()), JSON.stringify(text))
      const errors = server.log.filter((line) => /"level":(?:50|60)|internal error/.test(line))
      assert.deepEqual(errors, [])
    },
  )
})
