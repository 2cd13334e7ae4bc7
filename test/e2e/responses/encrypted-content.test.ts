// @backend both (cluster in long runs)
/** Content that only one organization can read goes back to the credential that it came from. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { readError } from '../../support/client/responses.ts'
import {
  parseResponsesEvents,
  postResponses,
  responsesRequest,
  withoutHolders,
} from '../../support/client/responses-api.ts'
import { sharedTestServer, type RegisteredUpstream } from '../../support/server/test-server.ts'
import { truncateAfter } from '../../support/upstream/fault-injection.ts'
import {
  messageItem,
  nativeEvents,
  nativeResponse,
  respondWithItems,
} from '../../support/upstream/native-responses.ts'
import {
  respondWith,
  respondWithError,
  respondWithEvents,
} from '../../support/upstream/scripted-responses.ts'

type Fields = Record<string, unknown>

const server = await sharedTestServer()
const prices = { input: '0.001', output: '0.001' }
/** Its text looks like the field, and must stay as it is. */
const message = messageItem('Say {"encrypted_content":"no"}.')
const reasoning = (content: string): Fields => ({
  id: 'rs_1',
  type: 'reasoning',
  summary: [],
  encrypted_content: content,
})
const upstream = (content: string): Promise<RegisteredUpstream> =>
  server.upstream(respondWithItems([reasoning(content), message]), { provider: 'openai' })
const first = await upstream('gAAA/first+==')
const second = await upstream('gAAA-second_')
const chat = await server.upstream(respondWith('Hello from chat.'))
await server.model('reasoner', { upstreams: [first, second, chat], prices })
await server.model('chat', { upstreams: [chat], prices })
const alice = await server.account({ balance: '10' })

/** The items of a response by the second upstream, since the first one fails. */
async function itemsOfSecond(): Promise<Fields[]> {
  first.next(respondWithError(500))
  const response = await postResponses(alice, responsesRequest('reasoner'))
  const { output } = (await response.json()) as { output: Fields[] }
  assert.match(String(output[0]?.['encrypted_content']), /^gAAA-second_\.sluice\.[\w-]{12}$/)
  return output
}

const next = (items: readonly Fields[], fields: Fields = {}): Fields => ({
  ...responsesRequest('reasoner', fields),
  input: [{ role: 'user', content: 'Hi' }, ...items, { role: 'user', content: 'Go on. \u00e9' }],
})

describe('Encrypted content', () => {
  test('Response and stream – name the credential, and nothing else changes', async () => {
    const whole = await (await postResponses(alice, responsesRequest('reasoner'))).text()
    const suffix = /\.sluice\.[\w-]{12}/g
    assert.equal(whole.match(suffix)?.length, 1)
    const sent = [reasoning('gAAA/first+=='), message]
    assert.equal(withoutHolders(whole), JSON.stringify(nativeResponse(sent)))
    const response = await postResponses(alice, responsesRequest('reasoner', { stream: true }))
    const stream = await response.text()
    const expected = nativeEvents(sent).map(({ name, payload }) => `event: ${name}\ndata: ${payload}\n\n`)
    assert.equal(stream.match(suffix)?.length, 3)
    assert.equal(withoutHolders(stream), expected.join(''))
  })

  test('Next request – goes to the same upstream, which gets what it has written', async () => {
    const items = await itemsOfSecond()
    const before = first.requests.length
    const body = JSON.stringify(next(items, { metadata: { n: '1' } })).replace('"n":"1"', '"n" : "1"')
    assert.equal((await postResponses(alice, body)).status, 200)
    assert.equal(first.requests.length, before)
    const [, sent] = /^(.*),"store":false\}$/.exec(second.requests.at(-1)?.text ?? '') ?? []
    assert.equal(sent, body.replace(/\.sluice\.[\w-]{12}/, '').slice(0, -1))
  })

  test('Text that looks like a name – does not hide the name of an item before it', async () => {
    const items = await itemsOfSecond()
    const before = first.requests.length
    const more = { role: 'user', content: 'See ~/.sluice.conf and .sluice.abcdefghijkl' }
    assert.equal((await postResponses(alice, next([...items, more]))).status, 200)
    assert.equal(first.requests.length, before)
    assert.match(second.requests.at(-1)?.text ?? '', /"encrypted_content":"gAAA-second_"/)
  })

  test('Upstream that fails – reasoning is left out elsewhere, a compaction is not', async () => {
    const items = await itemsOfSecond()
    second.next(respondWithError(500))
    assert.equal((await postResponses(alice, next(items))).status, 200)
    const { input } = first.requests.at(-1)?.json ?? {}
    assert.deepEqual((input as Fields[])[1], message)
    const compacted = { ...items[0], id: 'cmp_1', type: 'compaction' }
    second.next(respondWithError(500))
    const response = await postResponses(alice, next([compacted]))
    assert.equal(response.status, 503)
  })

  test('Upstream without the API – does not get it', async () => {
    const items = await itemsOfSecond()
    const response = await postResponses(alice, { ...next(items), model: 'chat' })
    assert.equal(response.status, 200)
    assert.doesNotMatch(chat.requests.at(-1)?.text ?? '', /gAAA/)
  })

  test('No name, or an unknown one – goes to the first upstream', async () => {
    assert.equal((await postResponses(alice, next([reasoning('gAAA')]))).status, 200)
    assert.match(first.requests.at(-1)?.text ?? '', /"encrypted_content":"gAAA"/)
    const unknown = reasoning('gAAA.sluice.abcdefghijkl')
    assert.equal((await postResponses(alice, next([unknown, message]))).status, 200)
    assert.doesNotMatch(first.requests.at(-1)?.text ?? '', /encrypted_content":"gAAA/)
    const compacted = { ...unknown, type: 'compaction' }
    const response = await postResponses(alice, next([compacted]))
    assert.deepEqual(
      [response.status, (await readError(response)).param],
      [400, 'input[1].encrypted_content'],
    )
  })

  test('Stream that is cut – names the credential in response.failed', async () => {
    first.next(truncateAfter(5, 'reset', respondWithEvents(nativeEvents([reasoning('gAAA'), message]))))
    const response = await postResponses(alice, responsesRequest('reasoner', { stream: true }))
    const failed = parseResponsesEvents(await response.text()).at(-1)?.response
    assert.equal(failed?.status, 'failed')
    assert.match(String(failed.output[0]?.['encrypted_content']), /^gAAA\.sluice\.[\w-]{12}$/)
  })

  test('Collected stream – names the credential', async () => {
    const script = respondWithItems([reasoning('gAAA'), message])
    const collecting = await server.upstream(script, { provider: 'openai', collect_stream: true })
    await server.model('collecting', { upstreams: [collecting], prices })
    const response = await postResponses(alice, responsesRequest('collecting'))
    assert.match(await response.text(), /"encrypted_content":"gAAA\.sluice\.[\w-]{12}"/)
  })
})
