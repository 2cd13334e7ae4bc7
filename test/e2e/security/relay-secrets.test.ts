// @backend both (cluster in long runs)
/** Credentials, keys and prompts never appear in responses, records, metrics or the log, whatever fails. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest, readPayloads } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { failAfter } from '../../support/upstream/fault-injection.ts'
import {
  respondWithError,
  respondWithErrorInside200,
  respondWith,
  respondWithDeltas,
} from '../../support/upstream/scripted-responses.ts'
import type { Script } from '../../support/upstream/exchange.ts'

const server = await sharedTestServer()
const credential = 'canary/credential+of=the.upstream'
const prompt = 'canary prompt of the caller'
const completion = 'canary words of the model'
const upstream = await server.upstream(respondWith(completion), { credential })
await server.model('m', { upstreams: [upstream] })

/** An upstream that reveals the credential and the prompt in every error. */
const error = {
  message: `Wrong key ${credential} for: ${prompt}`,
  type: credential,
  param: credential,
  code: credential,
}
const leakingErrors: Script[] = [
  ...[400, 401, 403, 404, 413, 422, 429, 500, 503].map((status) =>
    respondWithError(status, { error }, { 'x-key': 'canary-header' }),
  ),
  respondWithError(500, `<html>${credential}</html>`),
  respondWithError(302, '', { location: `http://127.0.0.1/?key=canary-header` }),
  respondWithErrorInside200(error),
  respondWithErrorInside200({ ...error, code: 400 }),
  failAfter(3, error, respondWithDeltas(9)),
]

describe('Relay secrets', () => {
  test('Upstream that leaks its credential in errors – callers never see it, no prompt is stored', async () => {
    const account = await server.account({ balance: '¥1' })
    const outputs: string[] = []
    for (const script of leakingErrors) {
      for (const stream of [true, false]) {
        upstream.next(script)
        const response = await account.post(
          chatRequest('m', { stream, messages: [{ role: 'user', content: prompt }] }),
        )
        const isStreamed = response.headers.get('content-type')?.startsWith('text/event-stream')
        const body = isStreamed === true ? (await readPayloads(response)).join('\n') : await response.text()
        outputs.push(JSON.stringify([...response.headers]), body)
      }
    }
    const response = await account.post(chatRequest('m', { messages: [{ role: 'user', content: prompt }] }))
    assert.match(await response.text(), /canary words/)
    await (await account.post('{"model": "canary prompt of the caller')).text()
    const wrong = { authorization: `Bearer ${account.key.secret.slice(0, -1)}` }
    await (await account.post(chatRequest('m'), { headers: wrong })).text()

    for (const text of outputs) assert.ok(!text.includes(credential) && !text.includes('canary-header'), text)
    const stored = [
      JSON.stringify(await account.requests({ limit: '100' })),
      JSON.stringify(await server.admin('GET', '/upstreams')),
      await (await fetch(`${server.url}/metrics`)).text(),
      server.log.join('\n'),
    ]
    for (const text of stored) {
      for (const secret of [
        credential,
        account.key.secret,
        account.key.secret.slice(10),
        completion,
        prompt,
        'canary-header',
      ]) {
        assert.ok(!text.includes(secret), `${secret} is in: ${text.slice(0, 2000)}`)
      }
    }
  })
})
