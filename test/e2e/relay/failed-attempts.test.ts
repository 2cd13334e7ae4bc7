// @backend both (cluster in long runs)
/** What operators learn of failed attempts: in the log line and in the request's record. Customers see none of it. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest, readPayloads, type RequestRecord } from '../../support/server/account.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { failAfter, resetConnection, truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  respondWith,
  respondWithDeltas,
  respondWithError,
} from '../../support/upstream/scripted-responses.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import type { Script } from '../../support/upstream/exchange.ts'
import { waitUntil } from '../../support/wait.ts'

type AttemptRecord = RequestRecord['attempts'][number]

const server = await sharedTestServer()
const account = await server.account({ balance: '¥1' })
let modelCount = 0

/** A model with one new upstream for each script, in this order. */
async function modelWith(...scripts: Script[]): Promise<string> {
  const id = `model-${++modelCount}`
  const upstreams = []
  for (const script of scripts) upstreams.push(await server.upstream(script, { credential: 'sk-upstream' }))
  await server.model(id, { upstreams })
  return id
}

/** The attempts in the record, after checking that the log line has the same or, if `isLogged` is false, none. */
async function readAttempts(response: Response, isLogged = true): Promise<AttemptRecord[]> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') === true)
    await readPayloads(response)
  else await response.text()
  const { request_id: id, attempts } = await waitForRecord(account, response)
  const line = await waitUntil(
    async () => server.log.find((each) => each.includes(id) && each.includes('"msg":"request"')),
    'the line of the request',
  )
  const logged = (JSON.parse(line) as { attempts?: AttemptRecord[] }).attempts
  assert.deepEqual(logged, isLogged ? attempts : undefined)
  return attempts
}

function failWith(message: string, headers: Record<string, string>): Script {
  return respondWithError(500, { error: { message } }, headers)
}

describe('Failed attempts', () => {
  test('Upstreams that all fail – each is logged and recorded with its message and request id', async () => {
    const model = await modelWith(
      failWith('Engine 1 is overloaded.', { 'x-request-id': 'req_a1' }),
      failWith('Wrong key sk-upstream\u0000' + '!'.repeat(900), { 'request-id': 'req_b2' }),
      resetConnection,
    )
    const response = await account.post(chatRequest(model))
    assert.equal(response.status, 503)
    const id = response.headers.get('x-request-id')
    const body = await response.clone().text()
    const attempts = await readAttempts(response)
    assert.deepEqual(
      attempts.map(({ outcome, http_status: status }) => [outcome, status]),
      [
        ['failed', 500],
        ['failed', 500],
        ['failed', null],
      ],
    )
    const [first, second, third] = attempts
    assert.deepEqual([first?.error, first?.upstream_request_id], ['Engine 1 is overloaded.', 'req_a1'])
    assert.match(second?.error ?? '', /^Wrong key \[removed\]\uFFFD!+$/)
    assert.deepEqual([second?.error?.length, second?.upstream_request_id], [300, 'req_b2'])
    assert.match(third?.error ?? '', /^The connection to the upstream failed/)
    assert.equal(third?.upstream_request_id, undefined)

    const own = await (await account.get(`/v1/requests/${id}`)).text()
    for (const text of [body, own]) assert.doesNotMatch(text, /overloaded|req_a1|attempts/)
  })

  test('Failover that succeeds – its failed attempt is logged; without one, none is', async () => {
    const model = await modelWith(failWith('Down for maintenance.', {}), respondWith('Hello!'))
    const attempts = await readAttempts(await account.post(chatRequest(model)))
    assert.deepEqual(
      attempts.map(({ outcome, error }) => [outcome, error]),
      [
        ['failed', 'Down for maintenance.'],
        ['ok', undefined],
      ],
    )
    const healthy = await modelWith(respondWith('Hello!'))
    await readAttempts(await account.post(chatRequest(healthy)), false)
  })

  test('Stream that breaks off – its attempt has the error', async () => {
    const message = 'The engine has died.'
    const failing = await modelWith(failAfter(3, { message }, respondWithDeltas(9)))
    const [attempt] = await readAttempts(await account.post(chatRequest(failing, { stream: true })))
    assert.deepEqual([attempt?.outcome, attempt?.error], ['failed', message])
    const truncated = await modelWith(truncateAfter(4, 'end', respondWithDeltas(9)))
    const [cut] = await readAttempts(await account.post(chatRequest(truncated, { stream: true })))
    assert.deepEqual([cut?.outcome, cut?.error], ['failed', 'The stream ended before it was complete.'])
  })

  test('Invalid request – only the caller sees the message', async () => {
    const error = { message: 'Say hello. is no prompt.', code: 'bad_prompt', param: 'messages[0].content' }
    const model = await modelWith(respondWithError(400, { error }, { 'x-request-id': 'req_c3' }))
    const response = await account.post(chatRequest(model))
    assert.equal(response.status, 400)
    assert.match(await response.clone().text(), /is no prompt/)
    const [attempt] = await readAttempts(response)
    assert.equal(attempt?.error, 'bad_prompt, messages[0].content')
    assert.equal(attempt?.upstream_request_id, 'req_c3')
  })
})
