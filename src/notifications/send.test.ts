import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { parseCidrs } from '../lib/address-guard.ts'
import { truncateToBytes, httpChannels, type ChannelMessage } from './webhook-channels.ts'
import { HttpSender, sendMessage, type SendContext } from './send.ts'

const message: ChannelMessage = { id: 'msg_1', title: 'A title', text: 'A text', payload: {} }

/** A server that always gives this response, and a context that may call it. */
async function startResponder(
  t: TestContext,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ url: string; context: SendContext }> {
  const server = createServer((_, response) => response.writeHead(status, headers).end(body))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const http = new HttpSender(parseCidrs('127.0.0.0/8'))
  t.after(async () => {
    await http[Symbol.asyncDispose]()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, context: { http, mailer: null, now: Date.now } }
}

describe('sendMessage', () => {
  test('retryAfterMs – comes from the header, or from the body for Telegram', async (t) => {
    const flood = JSON.stringify({
      ok: false,
      description: 'Too Many Requests',
      parameters: { retry_after: 35 },
    })
    const telegram = await startResponder(t, 429, flood)
    const target = { address: '1', secret: '1:token-of-the-bot', server: telegram.url }
    assert.deepEqual(await sendMessage(telegram.context, 'telegram', target, message), {
      problem: 'HTTP 429 Too Many Requests',
      retryAfterMs: 35_000,
    })
    const slack = await startResponder(t, 429, 'rate_limited', { 'retry-after': '30' })
    const hook = { address: slack.url, secret: null, server: null }
    assert.deepEqual(await sendMessage(slack.context, 'slack', hook, message), {
      problem: 'HTTP 429 rate_limited',
      retryAfterMs: 30_000,
    })
  })

  test('an error that quotes the secret – is redacted', async (t) => {
    const { url, context } = await startResponder(
      t,
      200,
      JSON.stringify({ errcode: 1, errmsg: 'bad SECabcdef' }),
    )
    const target = { address: `${url}/x`, secret: 'SECabcdef', server: null }
    assert.equal((await sendMessage(context, 'dingtalk', target, message)).problem, '1 bad [secret]')
  })

  test('missing mail server and forbidden address – are reported as problems', async (t) => {
    const { url, context } = await startResponder(t, 200, 'ok')
    const mail = { address: 'a@b.example', secret: null, server: null }
    assert.match((await sendMessage(context, 'email', mail, message)).problem ?? '', /SMTP_URL/)
    const http = new HttpSender([])
    t.after(() => http[Symbol.asyncDispose]())
    const hook = { address: url, secret: null, server: null }
    assert.match((await sendMessage({ ...context, http }, 'slack', hook, message)).problem ?? '', /loopback/)
  })

  test('truncateToBytes – cuts at the end of a character', () => {
    const long = '你'.repeat(5000)
    for (const maxBytes of [100, 101, 102, 2048]) {
      const cut = truncateToBytes(long, maxBytes)
      assert.ok(Buffer.byteLength(cut) <= maxBytes && /^你+…$/.test(cut), String(maxBytes))
    }
    assert.equal(truncateToBytes('short', 100), 'short')
    const target = { address: 'https://x.example/?key=1', secret: null, server: null }
    const { body } = httpChannels.wecom.buildRequest(target, { ...message, text: long }, 0)
    const { text } = JSON.parse(body) as { text: { content: string } }
    assert.ok(Buffer.byteLength(text.content) <= 2048)
  })
})
