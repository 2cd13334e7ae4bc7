/** The fast path and node:http receive the same bytes and must send the same responses. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { chatRequest, headerNames, startFastPath, startNodeServer, RawClient } from './fast-path.fixture.ts'
import { scriptedDelay } from '../../../test/support/wait.ts'

const line = 'POST /v1/chat/completions HTTP/1.1\r\n'
const closingRequest = 'GET /bye HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
type TestContext = Parameters<typeof startFastPath>[0]

/** The statuses and bodies that are received until the connection closes or is silent for `quietMs`. */
async function exchangeBytes(
  t: TestContext,
  port: number,
  pieces: readonly string[],
  quietMs: number,
): Promise<string[]> {
  const client = new RawClient(t, port)
  for (const piece of pieces) {
    void client.write(piece)
    await new Promise(setImmediate)
  }
  for (let received = -1; received !== client.received.length && !client.isClosed;) {
    received = client.received.length
    await Promise.race([scriptedDelay(quietMs), client.waitForClose()])
  }
  client.socket.destroy()
  return client.responses.map(({ status, body }) => `${status} ${body}`)
}

interface Ports {
  readonly fastPath: number
  readonly node: number
}

/**
 * At an invalid byte, node:http closes the connection at once and drops the responses to the requests right before it;
 * the fast path still sends them.
 */
function areEquivalent(fastPath: readonly string[], node: readonly string[]): boolean {
  const last = node.at(-1)
  if (JSON.stringify(fastPath) === JSON.stringify(node)) return true
  if (!last?.startsWith('4') || fastPath.at(-1) !== last) return false
  return fastPath
    .slice(0, -1)
    .every((response, i) => (node.length - 1 > i ? response === node[i] : response.startsWith('200 ')))
}

async function compare(t: TestContext, ports: Ports, pieces: readonly string[]): Promise<string[]> {
  const sent = [...pieces, closingRequest]
  let received: [string[], string[]] = [[], []]
  // On a busy machine, one of them may be late: only a lasting difference counts.
  for (const quietMs of [40, 250, 1500]) {
    received = await Promise.all([
      exchangeBytes(t, ports.fastPath, sent, quietMs),
      exchangeBytes(t, ports.node, sent, quietMs),
    ])
    if (areEquivalent(...received)) return received[0]
  }
  assert.deepEqual(received[0], received[1], `after ${JSON.stringify(sent)}`)
  return received[0]
}

async function startBoth(t: TestContext): Promise<Ports> {
  return { fastPath: (await startFastPath(t)).port, node: (await startNodeServer(t)).port }
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

describe('fast path compared with node:http', () => {
  for (const [what, { bytes, status }] of Object.entries(rejected)) {
    test(`${what} – ${status} from both`, async (t) => {
      const [response] = await compare(t, await startBoth(t), [bytes])
      assert.match(response ?? '', new RegExp(`^${status} `))
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
    'x-api-key and another Authorization': request(
      'Host: x\r\nX-Api-Key: a\r\nAuthorization: Bearer b\r\nContent-Length: 2\r\n',
    ),
    'HTTP/1.0': chatRequest('{}').replace('HTTP/1.1', 'HTTP/1.0'),
    'a query': chatRequest('{}').replace('completions', 'completions?a=b'),
  }

  for (const [what, bytes] of Object.entries(accepted)) {
    test(`${what} – same response from both`, async (t) => {
      await compare(t, await startBoth(t), [bytes])
    })
  }

  for (const name of headerNames) {
    test(`${name} – same value from both`, async (t) => {
      const host = name === 'host' ? '' : 'Host: x\r\n'
      // Another coding is rejected.
      const value = name === 'content-encoding' ? 'identity' : `of-${name}`
      const [response] = await compare(t, await startBoth(t), [
        request(`${host}${name}: ${value}\r\nContent-Length: 2\r\n`),
      ])
      assert.match(response ?? '', new RegExp(`"${value}"`))
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
    'X-Api-Key: a\r\n',
    'Cookie: a=b\r\n',
    'Anthropic-Version: 1\r\n',
    'Anthropic-Beta: a\r\n',
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
    line.replace('chat/completions', 'messages'),
    line.replace('chat/completions', 'responses'),
    line.replace('1.1', '1.0'),
    'GET / HTTP/1.1\r\n',
  )
  const bodies = fc.constantFrom('{}', '{}', '', '{}\r\n', '2\r\n{}\r\n0\r\n\r\n', chatRequest('again'))
  const composed = fc
    .tuple(openings, fc.array(fragments, { maxLength: 6 }), bodies)
    .map(([opening, lines, body]) => `${opening}Host: x\r\n${lines.join('')}\r\n${body}`)

  /** A request with one byte changed, removed or inserted. */
  const damaged = fc
    .tuple(
      fc.constantFrom(
        chatRequest('{}'),
        chatRequest('{}', 'Connection: keep-alive\r\n'),
        chatRequest('ab') + chatRequest('c'),
      ),
      fc.nat(),
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom('change', 'remove', 'insert'),
    )
    .map(([text, where, byte, how]) => {
      const at = where % text.length
      const put = how === 'remove' ? '' : String.fromCharCode(byte)
      return text.slice(0, at) + put + text.slice(how === 'insert' ? at : at + 1)
    })

  const cut = fc.tuple(fc.oneof(composed, damaged), fc.nat()).map(([text, where]) => {
    const at = where % (text.length + 1)
    return [text.slice(0, at), text.slice(at)].filter((piece) => piece !== '')
  })

  test('random bytes in random chunks – same responses from both', async (t) => {
    const ports = await startBoth(t)
    const property = fc.asyncProperty(fc.array(cut, { minLength: 25, maxLength: 25 }), async (inputs) => {
      await Promise.all(inputs.map((pieces) => compare(t, ports, pieces)))
    })
    await fc.assert(property, { numRuns: 20 })
  })
})
