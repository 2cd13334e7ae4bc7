/** A response after seven minutes of silence; many proxies and clients time out after five. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { chatRequest } from '../support/server/account.ts'
import { sendRawRequest } from '../support/client/raw-http.ts'
import { startTestServer } from '../support/server/test-server.ts'
import { delayBy } from '../support/upstream/fault-injection.ts'
import { respondWith } from '../support/upstream/scripted-responses.ts'

describe('Slow responses', () => {
  test('Non-streaming response after 420 s – arrives', async (t) => {
    const server = await startTestServer(t)
    await server.model('m', { upstreams: [await server.upstream(delayBy(420_000, respondWith('At last.')))] })
    const account = await server.account({ balance: '¥1' })
    // A raw socket, because fetch times out after 300 s.
    const body = JSON.stringify(chatRequest('m'))
    const framing = `connection: close\r\ncontent-length: ${Buffer.byteLength(body)}`
    const { socket, response } = sendRawRequest(server, account, framing)
    socket.write(body)
    const text = await response
    assert.match(text, /^HTTP\/1\.1 200 /)
    assert.match(text, /At last\./)
    await server.assertNoOpenHolds()
  })
})
