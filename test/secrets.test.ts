/** Secrets and words that go in do not come out: not in answers, records, metrics or the log, whatever fails. */

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { question } from './support/server/account.ts'
import { shareHouse } from './support/server/test-server.ts'
import { failingAfter } from './support/upstream/fault-injection.ts'
import { failing, failingInside, saying, sayingMany } from './support/upstream/scripted-responses.ts'
import type { Script } from './support/upstream/exchange.ts'

const house = await shareHouse()
const credential = 'canary/credential+of=the.upstream'
const prompt = 'canary prompt of the caller'
const words = 'canary words of the model'
const upstream = await house.upstream(saying(words), { credential })
await house.model('m', { upstreams: [upstream] })

/** An upstream that tells in every error what it knows. */
const error = {
  message: `Wrong key ${credential} for: ${prompt}`,
  type: credential,
  param: credential,
  code: credential,
}
const tellTales: Script[] = [
  ...[400, 401, 403, 404, 413, 422, 429, 500, 503].map((status) =>
    failing(status, { error }, { 'x-key': 'canary-header' }),
  ),
  failing(500, `<html>${credential}</html>`),
  failing(302, '', { location: `http://127.0.0.1/?key=canary-header` }),
  failingInside(error),
  failingInside({ ...error, code: 400 }),
  failingAfter(3, error, sayingMany(9)),
]

test("an upstream that tells its credential in every error tells it to nobody, and no one's words are kept", async () => {
  const account = await house.account({ balance: '¥1' })
  const told: string[] = []
  for (const script of tellTales) {
    for (const stream of [true, false]) {
      upstream.next(script)
      const reply = await account.post(
        question('m', { stream, messages: [{ role: 'user', content: prompt }] }),
      )
      told.push(JSON.stringify([...reply.headers]), await reply.text())
    }
  }
  const reply = await account.post(question('m', { messages: [{ role: 'user', content: prompt }] }))
  assert.match(await reply.text(), /canary words/)
  await (await account.post('{"model": "canary prompt of the caller')).text()
  const wrong = { authorization: `Bearer ${account.key.secret.slice(0, -1)}` }
  await (await account.post(question('m'), { headers: wrong })).text()

  for (const text of told) assert.ok(!text.includes(credential) && !text.includes('canary-header'), text)
  const kept = [
    JSON.stringify(await account.requests({ limit: '100' })),
    JSON.stringify(await house.admin('GET', '/upstreams')),
    await (await fetch(`${house.url}/metrics`)).text(),
    house.log.join('\n'),
  ]
  for (const text of kept) {
    for (const secret of [
      credential,
      account.key.secret,
      account.key.secret.slice(10),
      words,
      prompt,
      'canary-header',
    ]) {
      assert.ok(!text.includes(secret), `${secret} is in: ${text.slice(0, 2000)}`)
    }
  }
})
