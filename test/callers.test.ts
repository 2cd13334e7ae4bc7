/** Callers who speak HTTP in their own way: one after the other without waiting, by its first version or piece by piece. */

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'

import { question } from './support/server/account.ts'
import { shareHouse } from './support/server/test-server.ts'
import { pausingAfter } from './support/upstream/fault-injection.ts'
import { saying } from './support/upstream/scripted-responses.ts'

const house = await shareHouse()
const usage = { input: 10, output: 5 }
const upstream = await house.upstream(saying('Hello, world!', usage))
await house.model('m', { upstreams: [upstream] })
const account = await house.account({ balance: '¥1' })

function chat(fields: object, version = '1.1', more = ''): string {
  const body = JSON.stringify(question('m', fields))
  return (
    `POST /v1/chat/completions HTTP/${version}\r\nhost: x\r\nauthorization: Bearer ${account.key.secret}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`
  )
}

interface Line {
  send(text: string): void
  finishSending(): void
  /** All that came, once it matches. */
  heard(what: RegExp): Promise<string>
  closed: Promise<string>
}

function openLine(): Line {
  const socket = connect({ port: house.relay.port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  const waiting = new Set<() => void>()
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
    for (const look of waiting) look()
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  socket.on('error', reject)
  socket.on('end', () => {
    socket.end()
    resolve(text)
    for (const look of waiting) look()
  })
  return {
    send: (words) => void socket.write(words),
    finishSending: () => void socket.end(),
    closed: promise,
    async heard(what) {
      const heard = Promise.withResolvers<void>()
      const look = () => {
        if (what.test(text)) heard.resolve()
      }
      waiting.add(look)
      look()
      await Promise.race([heard.promise, promise])
      waiting.delete(look)
      assert.match(text, what)
      return text
    },
  }
}

/** The statuses, and what of the answers tells them apart, in order. */
function toldIn(text: string): string[] {
  return text.match(/HTTP\/1\.1 \d+|\[DONE\]|"object":"chat\.completion"|"object":"list"/g) ?? []
}

test('calls sent one after the other without waiting are answered in their order, whole and streamed', async () => {
  const line = openLine()
  const word = Promise.withResolvers<void>()
  upstream.next(pausingAfter(2, word.promise, saying('Hello, world!', usage)))
  const list = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key.secret}\r\n\r\n`
  line.send(
    chat({ stream: true }) +
      chat({ stream: false }) +
      list +
      chat({ stream: true }, '1.1', 'connection: close\r\n'),
  )
  await line.heard(/Hello,/)
  word.resolve()
  const text = await line.closed
  assert.deepEqual(toldIn(text), [
    'HTTP/1.1 200',
    '[DONE]',
    'HTTP/1.1 200',
    '"object":"chat.completion"',
    'HTTP/1.1 200',
    '"object":"list"',
    'HTTP/1.1 200',
    '[DONE]',
  ])
  assert.equal(text.match(/ world!/g)?.length, 3, 'nothing of any answer is lost')
})

test('one connection serves call after call', async () => {
  const line = openLine()
  for (let calls = 1; calls <= 4; calls++) {
    const stream = calls % 2 === 1
    line.send(chat({ stream }))
    const end = stream ? String.raw`\[DONE\]\n\n\r\n0\r\n\r\n` : '"total_tokens":15[^\r]*'
    const text = await line.heard(new RegExp(`(?:HTTP[^]*){${calls}}${end}$`))
    assert.equal(toldIn(text).length, 2 * calls)
  }
  line.finishSending()
  await line.closed
})

test('a caller of HTTP/1.0 gets its stream without chunks, ended by the connection', async () => {
  const line = openLine()
  line.send(chat({ stream: true }, '1.0'))
  const text = await line.closed
  const [head = '', body = ''] = text.split('\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 200 /)
  assert.doesNotMatch(head, /transfer-encoding/i)
  assert.match(body, /^data: \{[^]*data: \[DONE\]\n\n$/)
})

test('a body in pieces, one byte at a time, is the same body', async () => {
  const line = openLine()
  const text = chat({ stream: false }, '1.1', 'connection: close\r\n')
  for (const character of text) {
    line.send(character)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.match(await line.closed, /^HTTP\/1\.1 200 [^]*Hello, world!/)
  const chunked = chat({}).split('\r\n\r\n')
  const [head = '', body = ''] = chunked
  const pieces =
    body
      .match(/.{1,7}/gs)
      ?.map((piece) => `${piece.length.toString(16)};x=y\r\n${piece}\r\n`)
      .join('') ?? ''
  const other = openLine()
  other.send(
    `${head.replace(/content-length: \d+/, 'connection: close\r\ntransfer-encoding: chunked')}\r\n\r\n${pieces}0\r\n\r\n`,
  )
  assert.match(await other.closed, /^HTTP\/1\.1 200 [^]*Hello, world!/)
})
