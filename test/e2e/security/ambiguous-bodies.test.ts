// @backend sqlite – the bodies are the same on a cluster
// @suite all – hundreds of requests, of which the unit test has many more without a relay
/** Request bodies that JSON parsers could read differently, through a relay: what is billed is what is forwarded. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { generateBody } from '../../../src/relay/request/ambiguous-bodies.fixture.ts'
import { pricedFields } from '../../../src/relay/request/forwarded-body.fixture.ts'
import { PythonReaders, pythonSkipReason } from '../../../src/relay/request/json-readers.fixture.ts'
import { readChatRequest } from '../../../src/relay/request/request-body.ts'
import { waitForRecord } from '../../support/client/responses.ts'
import { seedRange } from '../../support/runner/seeds.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const upstream = await server.upstream(respondWith('Hello!'))
for (const model of ['cheap', 'dear']) await server.model(model, { upstreams: [upstream] })

describe('Ambiguous request bodies', () => {
  test(
    'Accepted body – the upstream reads the fields that the relay bills, whatever its parser',
    { skip: pythonSkipReason },
    async (t) => {
      const python = new PythonReaders(t)
      const account = await server.account({ balance: '¥1000' })
      const { from, count } = seedRange(300)
      let accepted = 0
      for (let seed = from; seed < from + count; seed += 1) {
        const body = generateBody(seed)
        const before = upstream.requests.length
        const response = await fetch(`${server.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${account.key.secret}`, 'content-type': 'application/json' },
          body,
        })
        const text = await response.text()
        if (response.status !== 200) {
          assert.equal(response.status, 400, `seed ${seed}: ${text}`)
          assert.equal(upstream.requests.length, before, `seed ${seed}`)
          continue
        }
        accepted += 1
        const { model, n, stream, maxOutputTokens: maximum } = readChatRequest(body)
        assert.equal(upstream.requests.length, before + 1, `seed ${seed}`)
        const [readings = []] = await python.read([Buffer.from(upstream.requests.at(-1)?.text ?? '')])
        for (const { reader, fields } of readings)
          assert.deepEqual(
            pricedFields(fields, 'chat'),
            { model, n, maximum, stream },
            `seed ${seed}: ${reader}`,
          )
        const record = await waitForRecord(account, response)
        assert.deepEqual([record.model, record.stream], [model, stream], `seed ${seed}`)
      }
      t.diagnostic(`${accepted} of ${count} accepted`)
      assert.ok(accepted >= Math.floor(count / 10), `only ${accepted} bodies were accepted`)
    },
  )
})
