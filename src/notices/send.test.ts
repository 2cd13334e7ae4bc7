import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { parseCidrs } from '../lib/address-guard.ts'
import { cutToBytes, httpKinds, type Message } from '../notifications/webhook-channels.ts'
import { HttpSender, sendMessage, type SendMeans } from './send.ts'

const message: Message = { id: 'msg_1', title: 'A title', text: 'A text', payload: {} }

/** A server that answers so, and what sends to it. */
async function answering(
  t: TestContext,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ url: string; means: SendMeans }> {
  const server = createServer((_, response) => response.writeHead(status, headers).end(body))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const http = new HttpSender(parseCidrs('127.0.0.0/8'))
  t.after(async () => {
    await http.close()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, means: { http, mailer: null, now: Date.now } }
}

test('when to come again is heard from the header, and from the body of Telegram', async (t) => {
  const flood = JSON.stringify({
    ok: false,
    description: 'Too Many Requests',
    parameters: { retry_after: 35 },
  })
  const telegram = await answering(t, 429, flood)
  const target = { address: '1', secret: '1:token-of-the-bot', server: telegram.url }
  assert.deepEqual(await sendMessage(telegram.means, 'telegram', target, message), {
    problem: 'HTTP 429 Too Many Requests',
    retryAfterMs: 35_000,
  })
  const slack = await answering(t, 429, 'rate_limited', { 'retry-after': '30' })
  const hook = { address: slack.url, secret: null, server: null }
  assert.deepEqual(await sendMessage(slack.means, 'slack', hook, message), {
    problem: 'HTTP 429 rate_limited',
    retryAfterMs: 30_000,
  })
})

test('a service that quotes a secret does not make us tell it', async (t) => {
  const { url, means } = await answering(t, 200, JSON.stringify({ errcode: 1, errmsg: 'bad SECabcdef' }))
  const target = { address: `${url}/x`, secret: 'SECabcdef', server: null }
  assert.equal((await sendMessage(means, 'dingtalk', target, message)).problem, '1 bad [secret]')
})

test('mail without a mail server, and addresses that are not allowed, fail with a reason', async (t) => {
  const { url, means } = await answering(t, 200, 'ok')
  const mail = { address: 'a@b.example', secret: null, server: null }
  assert.match((await sendMessage(means, 'email', mail, message)).problem ?? '', /SMTP_URL/)
  const http = new HttpSender([])
  t.after(() => http.close())
  const hook = { address: url, secret: null, server: null }
  assert.match((await sendMessage({ ...means, http }, 'slack', hook, message)).problem ?? '', /loopback/)
})

test('texts are cut to what a service takes, at a character’s end', () => {
  const long = '你'.repeat(5000)
  for (const most of [100, 101, 102, 2048]) {
    const cut = cutToBytes(long, most)
    assert.ok(Buffer.byteLength(cut) <= most && /^你+…$/.test(cut), String(most))
  }
  assert.equal(cutToBytes('short', 100), 'short')
  const target = { address: 'https://x.example/?key=1', secret: null, server: null }
  const { body } = httpKinds.wecom.outgoing(target, { ...message, text: long }, 0)
  const { text } = JSON.parse(body) as { text: { content: string } }
  assert.ok(Buffer.byteLength(text.content) <= 2048)
})
