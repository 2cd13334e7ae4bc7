/** Hostile framing of responses (RFC 9112): the bytes of a response say something else than its head. */
import { once } from 'node:events'
import type { Socket } from 'node:net'

import {
  attackBody,
  attackResponse,
  responseHead,
  type HostileMode,
  type Outcome,
} from './hostile-upstream.ts'

type Expected = readonly [response: Outcome, stream: Outcome]

const neither: Expected = ['unavailable', 'unavailable']
const both: Expected = ['complete', 'complete']
const chunkedLine = 'Transfer-Encoding: chunked\r\n'

function inChunks(body: string, extension = ''): string {
  return `${body.length.toString(16)}${extension}\r\n${body}\r\n`
}

/** A part of the body that ends after the content, within the last events or members. */
export function mostOf(body: string): string {
  return body.slice(0, Math.floor(body.length * 0.7))
}

/** A mode that sends these bytes, and then closes the connection if `isEnding`. */
function sends(
  name: string,
  expected: Expected,
  bytes: (isStream: boolean) => string,
  isEnding = false,
): HostileMode {
  const respond = (socket: Socket, isStream: boolean): void => {
    socket.write(Buffer.from(bytes(isStream), 'latin1'))
    if (isEnding) socket.end()
  }
  return { name, expected, respond }
}

/** A mode with these header lines before the complete body. */
function withLines(name: string, expected: Expected, lines: (body: string) => string): HostileMode {
  return sends(name, expected, (isStream) => {
    const body = attackBody(isStream)
    return responseHead(isStream, lines(body)) + body
  })
}

const surplus: readonly HostileMode[] = [
  sends('a second response', both, (isStream) => attackResponse(isStream) + attackResponse(isStream)),
  sends('bytes after the response', both, (isStream) => `${attackResponse(isStream)}garbage\r\n\r\n`),
  {
    ...sends('a second response on the idle connection', both, attackResponse),
    async afterwards(socket) {
      const closed = once(socket, 'close')
      socket.write(attackResponse(false))
      await closed
    },
  },
  {
    ...sends('a response before the end of the request', both, attackResponse),
    isEarly: true,
    // It has not read the rest, and never will.
    afterwards: (socket) => Promise.resolve(socket.resetAndDestroy()),
  },
  ...[204, 304].map((status) =>
    sends(`${status} with a body`, neither, (isStream) =>
      attackResponse(isStream).replace('200 OK', `${status} X`),
    ),
  ),
]

const lengths: readonly HostileMode[] = [
  withLines('a length that is too short', ['unavailable', 'truncated'], (body) => {
    return `Content-Length: ${mostOf(body).length}\r\n`
  }),
  sends(
    'a length that is too long',
    ['unavailable', 'complete'],
    (isStream) => responseHead(isStream, 'Content-Length: 100000\r\n') + attackBody(isStream),
    true,
  ),
  withLines(
    'two lengths',
    neither,
    ({ length }) => `Content-Length: ${length}\r\nContent-Length: ${length + 1}\r\n`,
  ),
  withLines('a signed length', neither, ({ length }) => `Content-Length: +${length}\r\n`),
  withLines(
    'a length beyond all numbers',
    neither,
    ({ length }) => `Content-Length: 9${'0'.repeat(30)}${length}\r\n`,
  ),
  withLines('a length and chunks', neither, ({ length }) => `Content-Length: ${length}\r\n${chunkedLine}`),
  withLines('two transfer codings', neither, () => chunkedLine + chunkedLine),
  withLines('an unknown transfer coding', neither, () => 'Transfer-Encoding: gzip, chunked\r\n'),
  sends(
    'a response until the close',
    both,
    (isStream) => responseHead(isStream) + attackBody(isStream),
    true,
  ),
  sends(
    'a response until an early close',
    ['unavailable', 'truncated'],
    (isStream) => responseHead(isStream) + mostOf(attackBody(isStream)),
    true,
  ),
]

const heads: readonly HostileMode[] = [
  sends('no response', neither, () => '', true),
  sends('half a head', neither, () => 'HTTP/1.1 200 OK\r\nContent-Le', true),
  sends('no status line', neither, attackBody, true),
  sends('a status of two digits', neither, (isStream) => attackResponse(isStream).replace('200', '20')),
  sends('a status of four digits', neither, (isStream) => attackResponse(isStream).replace('200', '2000')),
  sends('HTTP/2.0', neither, (isStream) => attackResponse(isStream).replace('1.1', '2.0')),
  sends('a switch of protocols', neither, (isStream) => attackResponse(isStream).replace('200 OK', '101 X')),
  sends('interim responses', both, (isStream) => `HTTP/1.1 103 X\r\n\r\n${attackResponse(isStream)}`),
  sends('endless interim responses', neither, (isStream) => {
    return 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100_000) + attackResponse(isStream)
  }),
  withLines('100,000 headers', neither, () => 'A: b\r\n'.repeat(100_000)),
  withLines('a folded header', neither, ({ length }) => `A: b\r\n c\r\nContent-Length: ${length}\r\n`),
  withLines('U+0000 in a header', neither, ({ length }) => `A: \0\r\nContent-Length: ${length}\r\n`),
  withLines('a header without a colon', neither, ({ length }) => `A\r\nContent-Length: ${length}\r\n`),
  withLines('a space before a colon', neither, ({ length }) => `Content-Length : ${length}\r\n`),
  sends('line feeds alone', neither, (isStream) => attackResponse(isStream).replaceAll('\r\n', '\n'), true),
]

const chunks: readonly HostileMode[] = [
  ['a chunk that is longer than its size', (body: string) => `5\r\n${body}\r\n0\r\n\r\n`],
  ['a chunk size beyond all numbers', (body: string) => `${'F'.repeat(17)}\r\n${body}\r\n0\r\n\r\n`],
  ['a signed chunk size', (body: string) => `-${inChunks(body)}0\r\n\r\n`],
  ['line feeds alone between chunks', (body: string) => `${inChunks(body).replace('\r\n', '\n')}0\n\n`],
  ['an endless chunk extension', (body: string) => `${inChunks(body, `;${'a'.repeat(1_000_000)}`)}0\r\n\r\n`],
  ['a chunk extension with U+0000', (body: string) => `${inChunks(body, ';\0')}0\r\n\r\n`],
].map(([name, encode]) =>
  sends(String(name), neither, (isStream) => {
    const body = attackBody(isStream)
    return responseHead(isStream, chunkedLine) + (typeof encode === 'function' ? encode(body) : body)
  }),
)

/** A stream is complete with its last event, whatever follows. */
const trailers: readonly HostileMode[] = [
  sends('100,000 trailers', ['unavailable', 'complete'], (isStream) => {
    const body = inChunks(attackBody(isStream))
    return `${responseHead(isStream, chunkedLine)}${body}0\r\n${'A: b\r\n'.repeat(100_000)}\r\n`
  }),
]

export const hostileFraming: readonly HostileMode[] = [
  ...surplus,
  ...lengths,
  ...heads,
  ...chunks,
  ...trailers,
]
