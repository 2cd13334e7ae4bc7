/** What the relay learns of upstreams: when it stops asking one, how it finds out that it is back, and what it never learns from callers. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { payloadsOf, question, type Account } from './support/server/account.ts'
import { chunksOf, eventually, recordOf } from './support/client/responses.ts'
import type { Script } from './support/upstream/exchange.ts'
import { shareHouse, type KnownUpstream } from './support/server/test-server.ts'
import { truncating, waitingFor } from './support/upstream/fault-injection.ts'
import { failing, json, saying, sayingMany } from './support/upstream/scripted-responses.ts'
import { inParallel } from './twelve-faults.ts'
import { healthOf } from './support/server/upstream-health.ts'

const house = await shareHouse({ env: { WORKERS: '2' } })
const usage = { input: 10, output: 5 }
const well = saying('Hello!', usage)

/** A model with two upstreams, the first of which is asked first. */
async function pair(first: Script): Promise<{ model: string; first: KnownUpstream; second: KnownUpstream }> {
  const upstreams = [await house.upstream(first), await house.upstream(well)] as const
  const model = `pair-${upstreams[0].id}`
  await house.model(model, { upstreams: [...upstreams] })
  return { model, first: upstreams[0], second: upstreams[1] }
}

async function ask(account: Account, model: string, times = 1): Promise<void> {
  for (let count = 0; count < times; count += 1) {
    const reply = await account.post(question(model))
    assert.equal(reply.status, 200)
    await reply.arrayBuffer()
  }
}

test('while all is well, each request is one attempt, and the upstream is told as in use', async () => {
  const { model, first, second } = await pair(well)
  const account = await house.account({ balance: '¥1' })
  await ask(account, model, 100)
  assert.deepEqual([first.requests.length, second.requests.length], [100, 0])
  const health = await eventually('the answers of both workers', async () => {
    const found = await healthOf(house, first.id)
    return found.requests === 100 ? found : undefined
  })
  assert.equal(health.state, 'closed')
  assert.equal(health.error_rate, 0)
  assert.equal(health.why, '')
  assert.ok((health.latency_ms ?? -1) >= 0)
  assert.ok(Date.parse(health.since) <= Date.now())
})

test('an upstream that goes down is asked few times more, has its share again soon after it is healed, and both are told', async () => {
  const { model, first } = await pair(failing(500))
  const account = await house.account({ balance: '¥1' })
  await ask(account, model, 30)
  assert.ok(first.requests.length <= 7, `asked ${first.requests.length} times`)
  const down = await healthOf(house, first.id)
  assert.equal(down.state, 'open')
  assert.equal(down.error_rate, 1)
  assert.match(down.why, /500/)
  assert.ok(down.next_probe_at !== null)
  const since = performance.now()
  first.always(well)
  await eventually('the first upstream in use', async () => {
    await ask(account, model)
    return (await healthOf(house, first.id)).state === 'closed' ? true : undefined
  })
  assert.ok(performance.now() - since < 60_000)
  const before = first.requests.length
  await ask(account, model, 10)
  assert.equal(first.requests.length - before, 10, 'all of its share')
  for (const words of ['an upstream rests', 'an upstream is back']) {
    await eventually(words, () =>
      Promise.resolve(
        house.log.some((line) => line.includes(words) && line.includes(first.name)) || undefined,
      ),
    )
  }
})

test('of many requests at once, over two workers, one probes an upstream that has rested, and the others do not wait for it', async () => {
  const { model, first, second } = await pair(failing(503))
  const account = await house.account({ balance: '¥1' })
  await ask(account, model, 8)
  const { next_probe_at: due } = await healthOf(house, first.id)
  await eventually('the end of its rest', () =>
    Promise.resolve(Date.now() > Date.parse(due ?? '') || undefined),
  )
  const [asked, elsewhere] = [first.requests.length, second.requests.length]
  const word = Promise.withResolvers<void>()
  first.always(waitingFor(word.promise, well))
  const all = inParallel({ requests: 20, concurrency: 20 }, () => ask(account, model))
  await eventually('nineteen answers of the other', () =>
    Promise.resolve(second.requests.length - elsewhere === 19 || undefined),
  )
  assert.equal(first.requests.length - asked, 1)
  assert.equal((await healthOf(house, first.id)).state, 'half-open')
  word.resolve()
  await all
  await eventually(
    'the circuit closed',
    async () => (await healthOf(house, first.id)).state === 'closed' || undefined,
  )
})

test('where all are down, the least bad is still asked, and the caller is told what the upstream says', async () => {
  const { model, first, second } = await pair(failing(500))
  second.always(failing(500))
  const account = await house.account({ balance: '¥1' })
  for (let count = 0; count < 12; count += 1) {
    const asked = first.requests.length + second.requests.length
    assert.equal((await account.post(question(model))).status, 503)
    assert.ok(first.requests.length + second.requests.length > asked, 'never a 503 without asking')
  }
  second.always(well)
  await ask(account, model)
})

test('nothing is asked again once its first words went out, as the upstreams themselves can tell', async () => {
  const { model, first, second } = await pair(truncating(3, 'reset', sayingMany(9, usage)))
  const account = await house.account({ balance: '¥1' })
  const asked = await inParallel({ requests: 30, concurrency: 6 }, async (number) => {
    const text = `question ${number}`
    const messages = [{ role: 'user', content: text }]
    const reply = await account.post({ ...question(model, { stream: true }), messages })
    const payloads = await payloadsOf(reply)
    return { text, isBroken: chunksOf(payloads).some(({ error }) => error) }
  })
  const broken = asked.filter(({ isBroken }) => isBroken)
  assert.ok(
    broken.length >= 5 && broken.length <= 12,
    `${broken.length} were cut off before it was given a rest`,
  )
  for (const { text } of asked) {
    const times = [first, second].flatMap(({ requests }) =>
      requests.filter((each) => each.text.includes(`"${text}"`)),
    )
    assert.equal(times.length, 1)
  }
})

const creditText = 'Your credit balance is too low to access the API.'
const poisons: Record<string, Script> = {
  'a model nobody has': failing(404, { error: { message: 'The model `x` does not exist' } }),
  'a prompt that is too long': failing(400, { error: { message: 'maximum context length is 8192 tokens' } }),
  'a text about credit': failing(400, { error: { message: creditText } }),
  'a body that is too large': failing(413),
  'a value that is not allowed': failing(422),
  'an error inside 200': json(200, { error: { message: creditText, code: 400 } }),
}

for (const [name, script] of Object.entries(poisons)) {
  test(`one who sends ${name} again and again makes no upstream worse for others`, async () => {
    const { model, first, second } = await pair(well)
    const [poisoner, other] = [await house.account({ balance: '¥1' }), await house.account({ balance: '¥1' })]
    first.always(script)
    second.always(script)
    await inParallel({ requests: 60, concurrency: 6 }, async () => {
      const reply = await poisoner.post(question(model))
      assert.ok(reply.status >= 400 && reply.status < 500, String(reply.status))
      await reply.arrayBuffer()
    })
    first.always(well)
    second.always(well)
    const before = first.requests.length
    await ask(other, model, 10)
    assert.equal(first.requests.length - before, 10)
    for (const { id } of [first, second]) {
      const { state, credentials } = await healthOf(house, id)
      assert.deepEqual([state, credentials[0]?.state], ['closed', 'closed'])
    }
  })
}

test('an upstream that is asked too often rests for as long as it says, for this model and no other', async () => {
  const { model, first, second } = await pair(failing(429, undefined, { 'retry-after': '30' }))
  await house.model(`other-${model}`, { upstreams: [first, second] })
  const account = await house.account({ balance: '¥1' })
  await ask(account, model, 5)
  assert.equal(first.requests.length, 1)
  const busy = await healthOf(house, first.id, model)
  assert.equal(busy.state, 'open')
  assert.match(busy.why, /too often/)
  const restMs = Date.parse(busy.next_probe_at ?? '') - Date.now()
  assert.ok(restMs > 25_000 && restMs <= 30_000, `${restMs} ms`)
  first.always(well)
  await ask(account, `other-${model}`, 3)
  assert.equal(first.requests.length, 4)
})

test('a request tries each upstream once and three at most, whatever each of them says', async () => {
  const scripts = [failing(401), failing(402), failing(429), failing(500), well]
  const upstreams: KnownUpstream[] = []
  for (const script of scripts) upstreams.push(await house.upstream(script))
  await house.model('taxonomy', { upstreams })
  const account = await house.account({ balance: '¥1' })
  const reply = await account.post(question('taxonomy'))
  assert.equal(reply.status, 503)
  const { attempts } = await recordOf(account, reply)
  assert.deepEqual(
    attempts.map(({ http_status: status }) => status),
    [401, 402, 429],
  )
  assert.deepEqual(
    upstreams.map(({ requests }) => requests.length),
    [1, 1, 1, 0, 0],
  )
  await ask(account, 'taxonomy')
})
