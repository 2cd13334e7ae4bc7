/** What an upstream refuses is learned once, and what a provider has signed is for nobody else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { ownRecordings, wholeIn } from '../src/providers/contract.fixture.ts'
import { providerOf } from '../src/providers/registry.ts'
import { payloadsOf, question } from './support/server/account.ts'
import type { Script } from './support/upstream/exchange.ts'
import { shareHouse } from './support/server/test-server.ts'
import { json, saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const alice = await house.account({ balance: '1' })
const answering = saying('Hi.', { input: 20, output: 4 })

test('a provider that refuses stream_options in a list of wrong fields is asked once more without, from then on at once, by every worker', async () => {
  const wrong = {
    type: 'extra_forbidden',
    loc: ['body', 'stream_options'],
    msg: 'Extra inputs are not permitted',
  }
  const script: Script = (exchange) =>
    'stream_options' in exchange.request.json
      ? json(422, { object: 'error', message: { detail: [wrong] } })(exchange)
      : answering(exchange)
  const upstream = await house.upstream(script, { provider: 'mistral' })
  await house.model('refusing', { upstreams: [upstream] })
  const ask = async (): Promise<void> => {
    const payloads = await payloadsOf(await alice.post(question('refusing', { stream: true })))
    assert.equal(payloads.at(-1), '[DONE]')
  }
  await ask()
  assert.equal(upstream.requests.length, 2)
  // At once, so on connections of their own, which reach all workers.
  await Promise.all(Array.from({ length: 12 }, ask))
  assert.equal(upstream.requests.length, 14)
})

interface Answer {
  choices: [{ message: object }]
}

test('thinking that one provider has signed goes back to it, and to no upstream of the chat format', async () => {
  const anthropic = providerOf('anthropic')
  assert.ok(anthropic)
  const script = json(200, wholeIn(ownRecordings(anthropic), 'tools'))
  const thinking = await house.upstream(script, { provider: 'anthropic' })
  const plain = await house.upstream(answering)
  await house.model('thinking', { upstreams: [thinking] })
  await house.model('plain', { upstreams: [plain] })
  const answer = (await (await alice.post(question('thinking'))).json()) as Answer
  const messages = [{ role: 'user', content: 'q' }, answer.choices[0].message, { role: 'user', content: 'r' }]
  for (const model of ['thinking', 'plain']) {
    assert.equal((await alice.post(question(model, { messages }))).status, 200)
  }
  assert.match(thinking.requests.at(-1)?.text ?? '', /"signature"/)
  assert.doesNotMatch(plain.requests.at(-1)?.text ?? '', /"signature"/)
})
