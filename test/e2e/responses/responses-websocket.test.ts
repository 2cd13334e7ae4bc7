// @backend both (cluster in long runs)
/**
 * WebSocket mode of the Responses API: the cases of Open Responses' conformance suite, each with an upstream that speaks
 * the API and with one of chat completions.
 */
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'

import { waitForRecord } from '../../support/client/responses.ts'
import {
  postResponses,
  responsesRequest,
  streamResponse,
  textOf,
} from '../../support/client/responses-api.ts'
import { ResponsesSocket } from '../../support/client/responses-websocket.ts'
import type { Account, RequestRecord } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { waitFor } from '../../support/upstream/fault-injection.ts'
import { respondNatively } from '../../support/upstream/native-responses.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'
import { waitUntil } from '../../support/wait.ts'

const server = await sharedTestServer()
const prices = { input: '0.002', output: '0.008', cached_input: '0.0002' }
const alice = await server.account({ balance: '¥10' })
const answers = {
  native: respondNatively('Hello,', ' world.'),
  translated: respondWith('Hello, world.', { input: 20, output: 4, cached: 8 }),
}

async function open(t: TestContext, account: Account = alice): Promise<ResponsesSocket> {
  const socket = await ResponsesSocket.open(server.url, account.key.secret)
  t.after(() => socket.webSocket.terminate())
  return socket
}

function records(account: Account, count: number): Promise<RequestRecord[]> {
  return waitUntil(async () => {
    const found = await account.requests()
    return found.length >= count ? found : undefined
  }, `${count} records`)
}

/** What a record says about a request, apart from its time and its identity. */
function factsOf(record: RequestRecord): unknown[] {
  const { operation, outcome, http_status: status, stream, usage_source: source, cost } = record
  const { prompt_tokens: input, cached_tokens: cached, completion_tokens: output, finish } = record
  return [operation, outcome, status, stream, source, cost, input, cached, output, finish]
}

for (const [kind, script] of Object.entries(answers)) {
  const isNative = kind === 'native'
  const upstream = await server.upstream(script, { speaks: isNative ? ['responses'] : [] })
  if (!isNative) upstream.strict('openai')
  await server.model(kind, { upstreams: [upstream], prices })
  const sent = (): string => upstream.requests.at(-1)?.text ?? ''

  describe(`WebSocket mode (${kind})`, () => {
    test('Response – has the events of a stream over HTTP, one per frame', async (t) => {
      const socket = await open(t)
      const { output, usage } = await socket.respond(responsesRequest(kind))
      const streamed = await streamResponse(alice, responsesRequest(kind))
      assert.deepEqual(output.map(textOf), streamed.output.map(textOf))
      assert.deepEqual(usage, streamed.usage)
      assert.deepEqual(Object.keys(upstream.requests.at(-1)?.json ?? {}).includes('type'), false)
    })

    test('Sequential responses – are each a request with the row and the charge of HTTP', async (t) => {
      const bob = await server.account({ balance: '¥1' })
      const carol = await server.account({ balance: '¥1' })
      const socket = await open(t, bob)
      for (let i = 0; i < 3; i++) await socket.respond(responsesRequest(kind))
      const rows = await records(bob, 3)
      const response = await postResponses(carol, responsesRequest(kind, { stream: true }))
      await response.text()
      const expected = factsOf(await waitForRecord(carol, response))
      assert.equal(expected[0], 'responses')
      assert.deepEqual(rows.map(factsOf), Array(3).fill(expected))
      assert.equal(new Set(rows.map(({ request_id: id }) => id)).size, 3)
      const spent = async (account: Account): Promise<number> => 1 - Number(await account.balance())
      assert.equal((await spent(bob)).toFixed(9), (3 * (await spent(carol))).toFixed(9))
    })

    test('Continuation – sends the whole conversation, and only its own instructions', async (t) => {
      const socket = await open(t)
      const first = await socket.respond(
        responsesRequest(kind, { input: 'My name is Alice.', instructions: 'Be brief.' }),
      )
      const second = await socket.respond(
        responsesRequest(kind, {
          previous_response_id: first.id,
          input: [{ role: 'user', content: 'What is my name?' }],
        }),
      )
      assert.match(sent(), /My name is Alice\..*Hello, world\..*What is my name\?/)
      assert.doesNotMatch(sent(), /Be brief|previous_response_id/)
      await socket.respond(responsesRequest(kind, { previous_response_id: second.id, input: 'Bye.' }))
      assert.match(sent(), /My name is Alice\..*Hello, world\..*What is my name\?.*Hello, world\..*Bye\./)
      const { error } = await socket.fail(
        responsesRequest(kind, { previous_response_id: second.id, input: ['no item'] }),
      )
      assert.equal(error.param, 'input[0]')
    })

    test('Compaction – is continued from its item, not from what asked for it', async (t) => {
      const socket = await open(t)
      const input = [{ role: 'user', content: 'My name is Alice.' }, { type: 'compaction_trigger' }]
      const { id } = await socket.respond(responsesRequest(kind, { input }))
      await socket.respond(responsesRequest(kind, { previous_response_id: id, input: 'Go on.' }))
      assert.doesNotMatch(sent(), /compaction_trigger/)
      assert.match(sent(), /Go on\./)
    })

    if (isNative)
      test('Continuation of a stored response – is not remembered without what came before', async (t) => {
        const socket = await open(t)
        const stored = await socket.respond(responsesRequest(kind, { store: true }))
        const next = await socket.respond(responsesRequest(kind, { previous_response_id: stored.id }))
        assert.match(sent(), /"previous_response_id":"resp_/)
        const { error } = await socket.fail(responsesRequest(kind, { previous_response_id: next.id }))
        assert.equal(error.code, 'previous_response_not_found')
      })

    test('Reconnect with store false – the id is unknown, and the whole conversation works', async (t) => {
      const socket = await open(t)
      const { id, output } = await socket.respond(responsesRequest(kind, { store: false }))
      await socket.close()
      const next = await open(t)
      const frame = await next.fail(responsesRequest(kind, { store: false, previous_response_id: id }))
      assert.deepEqual([frame.status, frame.error.code], [400, 'previous_response_not_found'])
      const input = [{ role: 'user', content: 'Hi' }, ...output, { role: 'user', content: 'Again' }]
      assert.equal((await next.respond(responsesRequest(kind, { store: false, input }))).status, 'completed')
    })

    test('Unknown previous response – is an error that names it, and the socket stays open', async (t) => {
      const socket = await open(t)
      const frame = await socket.fail(responsesRequest(kind, { previous_response_id: 'resp_unknown' }))
      const { code, type, param } = frame.error
      assert.deepEqual(
        [frame.status, code, type, param],
        [400, 'previous_response_not_found', 'invalid_request_error', 'previous_response_id'],
      )
      assert.match(frame.headers?.['x-request-id'] ?? '', /^req_/)
      await socket.respond(responsesRequest(kind))
    })

    test('Failed continuation – makes the connection forget the id that it named', async (t) => {
      const socket = await open(t)
      const { id } = await socket.respond(responsesRequest(kind))
      const before = upstream.requests.length
      const input = [{ type: 'function_call_output', call_id: 'call_unknown', output: 'Sunny' }]
      const failed = await socket.fail(responsesRequest(kind, { previous_response_id: id, input }))
      assert.deepEqual([failed.status, failed.error.param], [400, 'input[0].call_id'])
      const again = await socket.fail(responsesRequest(kind, { previous_response_id: id }))
      assert.equal(again.error.code, 'previous_response_not_found')
      assert.equal(upstream.requests.length, before)
    })

    test('Warm-up – has an id and no output, costs nothing, and can be continued', async (t) => {
      const dora = await server.account({ balance: '¥1' })
      const socket = await open(t, dora)
      const before = upstream.requests.length
      const input = [{ role: 'developer', content: 'Speak like a pirate.' }]
      const warm = await socket.respond(responsesRequest(kind, { input, generate: false }))
      const empty = await socket.respond({ model: kind, generate: false })
      assert.deepEqual([warm.output, empty.output, upstream.requests.length], [[], [], before])
      assert.equal(Number(await dora.balance()), 1)
      await socket.respond(responsesRequest(kind, { previous_response_id: warm.id, input: 'Hello?' }))
      assert.match(sent(), /Speak like a pirate\..*Hello\?/)
      await socket.respond(responsesRequest(kind, { previous_response_id: empty.id, input: 'Anybody?' }))
      assert.equal((await records(dora, 2)).length, 2)
      assert.equal((await socket.fail({ model: 'nowhere', generate: false })).error.code, 'model_not_found')
    })

    test('Lanes – run at the same time, each with its name in every frame', async (t) => {
      const socket = await open(t)
      const resume = Promise.withResolvers<void>()
      upstream.next(waitFor(resume.promise, script))
      socket.create(responsesRequest(kind, { stream_id: 'slow' }))
      await upstream.nextRequest()
      socket.create(responsesRequest(kind, { stream_id: 'fast' }))
      const fast = await socket.frames()
      assert.deepEqual(new Set(fast.map(({ stream_id: id }) => id)), new Set(['fast']))
      const busy = await socket.fail(responsesRequest(kind, { stream_id: 'slow' }))
      assert.deepEqual([busy.status, busy.error.code, busy.stream_id], [409, 'conflict', 'slow'])
      await socket.respond(responsesRequest(kind))
      resume.resolve()
      const slow = await socket.frames()
      assert.deepEqual(new Set(slow.map(({ stream_id: id }) => id)), new Set(['slow']))
      const previous = slow.at(-1)?.response?.id
      const input = [{ type: 'function_call_output', call_id: 'call_unknown', output: '' }]
      const fork = { previous_response_id: previous, stream_id: 'fork', input }
      assert.equal((await socket.fail(responsesRequest(kind, fork))).status, 400)
      // The failure of another lane leaves it.
      await socket.respond(responsesRequest(kind, { previous_response_id: previous }))
    })
  })
}
