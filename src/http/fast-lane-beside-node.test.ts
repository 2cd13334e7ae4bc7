/** The lane and node:http, asked the same bytes: what one answers, the other answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { chatRequest, openLane, openNode, Talk } from './server/fast-path.fixture.ts'

const line = 'POST /v1/chat/completions HTTP/1.1\r\n'
const goodbye = 'GET /bye HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
type TestContext = Parameters<typeof openLane>[0]

/** The statuses and bodies that come back before the connection closes, or nothing comes for a while. */
async function heardFrom(
  t: TestContext,
  port: number,
  pieces: readonly string[],
  quietMs: number,
): Promise<string[]> {
  const talk = new Talk(t, port)
  for (const piece of pieces) {
    void talk.say(piece)
    await new Promise(setImmediate)
  }
  for (let heard = -1; heard !== talk.heard.length && !talk.isClosed;) {
    heard = talk.heard.length
    await Promise.race([delay(quietMs), talk.closed()])
  }
  talk.socket.destroy()
  return talk.answers.map(({ status, body }) => `${status} ${body}`)
}

interface Ports {
  readonly lane: number
  readonly node: number
}

/**
 * At a wrong byte node:http ends the connection at once, and the answers to what came right before it are lost; the
 * lane still gives them.
 */
function agree(lane: readonly string[], node: readonly string[]): boolean {
  const last = node.at(-1)
  if (JSON.stringify(lane) === JSON.stringify(node)) return true
  if (!last?.startsWith('4') || lane.at(-1) !== last) return false
  return lane
    .slice(0, -1)
    .every((answer, i) => (node.length - 1 > i ? answer === node[i] : answer.startsWith('200 ')))
}

async function compare(t: TestContext, ports: Ports, pieces: readonly string[]): Promise<string[]> {
  const sent = [...pieces, goodbye]
  let heard: [string[], string[]] = [[], []]
  // A busy machine may make one of them late: only what lasts is a difference.
  for (const quietMs of [40, 250, 1500]) {
    heard = await Promise.all([
      heardFrom(t, ports.lane, sent, quietMs),
      heardFrom(t, ports.node, sent, quietMs),
    ])
    if (agree(...heard)) return heard[0]
  }
  assert.deepEqual(heard[0], heard[1], `after ${JSON.stringify(sent)}`)
  return heard[0]
}

async function openBoth(t: TestContext): Promise<Ports> {
  return { lane: (await openLane(t)).port, node: (await openNode(t)).port }
}

function request(lines: string, body = '{}'): string {
  return `${line}${lines}\r\n${body}`
}

const rejected: Readonly<Record<string, { bytes: string; status: number }>> = {
  'two lengths': { bytes: request('Host: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n'), status: 400 },
  'no host': { bytes: request('Content-Length: 2\r\n'), status: 400 },
  'a length and chunks': {
    bytes: request('Host: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n'),
    status: 400,
  },
  'a LF alone in a value': { bytes: request('Host: x\r\nX-A: b\nContent-Length: 2\r\n'), status: 400 },
  'LF alone everywhere': { bytes: `${line.trim()}\nHost: x\nContent-Length: 2\n\n{}`, status: 400 },
  'a NUL': { bytes: request('Host: x\r\nX-A: \0\r\nContent-Length: 2\r\n'), status: 400 },
  'a space before the colon': { bytes: request('Host: x\r\nContent-Length : 2\r\n'), status: 400 },
  'a signed length': { bytes: request('Host: x\r\nContent-Length: +2\r\n'), status: 400 },
  'a huge head': {
    bytes: request(`Host: x\r\nX-A: ${'a'.repeat(20_000)}\r\nContent-Length: 2\r\n`),
    status: 431,
  },
  'another protocol': { bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', status: 400 },
}

for (const [what, { bytes, status }] of Object.entries(rejected)) {
  test(`${what}: ${status}, as from node:http`, async (t) => {
    const [answer] = await compare(t, await openBoth(t), [bytes])
    assert.match(answer ?? '', new RegExp(`^${status} `))
  })
}

const accepted: Readonly<Record<string, string>> = {
  'two hosts': request('Host: x\r\nHost: y\r\nContent-Length: 2\r\n'),
  'a folded line': request('Host: x\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n'),
  'names in lower case': request('host: x\r\ncontent-length: 2\r\nauthorization: Bearer z\r\n'),
  'names in upper case': request('HOST: x\r\nCONTENT-LENGTH: 2\r\nAUTHORIZATION: Bearer z\r\n'),
  'two authorizations': request('Host: x\r\nAuthorization: a\r\nAuthorization: b\r\nContent-Length: 2\r\n'),
  'leading zeros': request('Host: x\r\nContent-Length: 0002\r\n'),
  'an empty line before': `\r\n${chatRequest('{}')}`,
  'no body': request('Host: x\r\nContent-Length: 0\r\n', ''),
  'bytes beyond ASCII': request('Host: x\r\nAuthorization: Bearer \xe4\xff\r\nContent-Length: 2\r\n'),
  'HTTP/1.0': chatRequest('{}').replace('HTTP/1.1', 'HTTP/1.0'),
  'a query': chatRequest('{}').replace('completions', 'completions?a=b'),
}

for (const [what, bytes] of Object.entries(accepted)) {
  test(`${what}: answered alike`, async (t) => {
    await compare(t, await openBoth(t), [bytes])
  })
}

const fragments = fc.constantFrom(
  'Host: x\r\n',
  'host:x\r\n',
  'Content-Length: 2\r\n',
  'Content-Length: 2\r\n',
  'Content-Length: 02\r\n',
  'Content-Length: 2 \r\n',
  'Content-Length:\t2\r\n',
  'Content-Length: 3\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Connection: keep-alive\r\n',
  'Connection: Keep-Alive\r\n',
  'Connection: close\r\n',
  'Connection: \r\n',
  'Proxy-Connection: close\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: h2c\r\n',
  'Authorization: Bearer k \t\r\n',
  'Authorization:\r\n',
  'X-A: b\r\n c\r\n',
  'X-A: b\n',
  'X-A\t: b\r\n',
  'X-A: \0\r\n',
)
const openings = fc.constantFrom(
  line,
  line,
  line,
  line.replace('/v1', ''),
  line.replace('1.1', '1.0'),
  'GET / HTTP/1.1\r\n',
)
const bodies = fc.constantFrom('{}', '{}', '', '{}\r\n', '2\r\n{}\r\n0\r\n\r\n', chatRequest('again'))
const composed = fc
  .tuple(openings, fc.array(fragments, { maxLength: 6 }), bodies)
  .map(([opening, lines, body]) => `${opening}Host: x\r\n${lines.join('')}\r\n${body}`)

/** A request with one byte changed, left out or put in. */
const damaged = fc
  .tuple(
    fc.constantFrom(
      chatRequest('{}'),
      chatRequest('{}', 'Connection: keep-alive\r\n'),
      chatRequest('ab') + chatRequest('c'),
    ),
    fc.nat(),
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom('change', 'leave out', 'put in'),
  )
  .map(([text, where, byte, how]) => {
    const at = where % text.length
    const put = how === 'leave out' ? '' : String.fromCharCode(byte)
    return text.slice(0, at) + put + text.slice(how === 'put in' ? at : at + 1)
  })

const cut = fc.tuple(fc.oneof(composed, damaged), fc.nat()).map(([text, where]) => {
  const at = where % (text.length + 1)
  return [text.slice(0, at), text.slice(at)].filter((piece) => piece !== '')
})

test('whatever bytes come, in whatever pieces, the lane answers them as node:http does', async (t) => {
  const ports = await openBoth(t)
  const property = fc.asyncProperty(fc.array(cut, { minLength: 25, maxLength: 25 }), async (inputs) => {
    await Promise.all(inputs.map((pieces) => compare(t, ports, pieces)))
  })
  await fc.assert(property, { numRuns: 20 })
})
