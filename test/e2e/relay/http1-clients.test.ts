// @backend both
/** Unusual HTTP/1.x clients: pipelining, HTTP/1.0, and bodies that arrive byte by byte. */

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'

import { chatRequest } from '../../support/server/account.ts'
import { sharedTestServer } from '../../support/server/test-server.ts'
import { pauseAfter } from '../../support/upstream/fault-injection.ts'
import { respondWith } from '../../support/upstream/scripted-responses.ts'

const server = await sharedTestServer()
const usage = { input: 10, output: 5 }
const upstream = await server.upstream(respondWith('Hello, world!', usage))
await server.model('m', { upstreams: [upstream] })
const account = await server.account({ balance: '¥1' })

function chat(fields: object, version = '1.1', more = ''): string {
  const body = JSON.stringify(chatRequest('m', fields))
  return (
    `POST /v1/chat/completions HTTP/${version}\r\nhost: x\r\nauthorization: Bearer ${account.key.secret}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`
  )
}

interface Connection {
  send(text: string): void
  finishSending(): void
  /** Everything received, once it matches. */
  waitFor(pattern: RegExp): Promise<string>
  closed: Promise<string>
}

function openConnection(): Connection {
  const socket = connect({ port: server.relay.port, host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  const checks = new Set<() => void>()
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part
    for (const check of checks) check()
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  socket.on('error', reject)
  socket.on('end', () => {
    socket.end()
    resolve(text)
    for (const check of checks) check()
  })
  return {
    send: (bytes) => void socket.write(bytes),
    finishSending: () => void socket.end(),
    closed: promise,
    async waitFor(pattern) {
      const matched = Promise.withResolvers<void>()
      const check = () => {
        if (pattern.test(text)) matched.resolve()
      }
      checks.add(check)
      check()
      await Promise.race([matched.promise, promise])
      checks.delete(check)
      assert.match(text, pattern)
      return text
    },
  }
}

/** The statuses, and what distinguishes the bodies, in order. */
function summarize(text: string): string[] {
  return text.match(/HTTP\/1\.1 \d+|\[DONE\]|"object":"chat\.completion"|"object":"list"/g) ?? []
}

describe('HTTP/1.x clients', () => {
  test('Pipelined requests – are answered in order, streaming and not', async () => {
    const connection = openConnection()
    const resume = Promise.withResolvers<void>()
    upstream.next(pauseAfter(2, resume.promise, respondWith('Hello, world!', usage)))
    const list = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key.secret}\r\n\r\n`
    connection.send(
      chat({ stream: true }) +
        chat({ stream: false }) +
        list +
        chat({ stream: true }, '1.1', 'connection: close\r\n'),
    )
    await connection.waitFor(/Hello,/)
    resume.resolve()
    const text = await connection.closed
    assert.deepEqual(summarize(text), [
      'HTTP/1.1 200',
      '[DONE]',
      'HTTP/1.1 200',
      '"object":"chat.completion"',
      'HTTP/1.1 200',
      '"object":"list"',
      'HTTP/1.1 200',
      '[DONE]',
    ])
    assert.equal(text.match(/ world!/g)?.length, 3, 'no response is truncated')
  })

  test('Keep-alive connection – serves one request after another', async () => {
    const connection = openConnection()
    for (let calls = 1; calls <= 4; calls++) {
      const stream = calls % 2 === 1
      connection.send(chat({ stream }))
      const end = stream ? String.raw`\[DONE\]\n\n\r\n0\r\n\r\n` : '"total_tokens":15[^\r]*'
      const text = await connection.waitFor(new RegExp(`(?:HTTP[^]*){${calls}}${end}$`))
      assert.equal(summarize(text).length, 2 * calls)
    }
    connection.finishSending()
    await connection.closed
  })

  test('HTTP/1.0 client – gets its stream unchunked, ended by closing the connection', async () => {
    const connection = openConnection()
    connection.send(chat({ stream: true }, '1.0'))
    const text = await connection.closed
    const [head = '', body = ''] = text.split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 200 /)
    assert.doesNotMatch(head, /transfer-encoding/i)
    assert.match(body, /^data: \{[^]*data: \[DONE\]\n\n$/)
  })

  test('Request body in pieces – may arrive byte by byte or in chunks', async () => {
    const connection = openConnection()
    const text = chat({ stream: false }, '1.1', 'connection: close\r\n')
    for (const character of text) {
      connection.send(character)
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.match(await connection.closed, /^HTTP\/1\.1 200 [^]*Hello, world!/)
    const chunked = chat({}).split('\r\n\r\n')
    const [head = '', body = ''] = chunked
    const pieces =
      body
        .match(/.{1,7}/gs)
        ?.map((piece) => `${piece.length.toString(16)};x=y\r\n${piece}\r\n`)
        .join('') ?? ''
    const other = openConnection()
    other.send(
      `${head.replace(/content-length: \d+/, 'connection: close\r\ntransfer-encoding: chunked')}\r\n\r\n${pieces}0\r\n\r\n`,
    )
    assert.match(await other.closed, /^HTTP\/1\.1 200 [^]*Hello, world!/)
  })
})
