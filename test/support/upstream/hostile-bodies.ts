/** Hostile contents of responses whose framing is valid: bombs, depth, floods, and bodies that never end. */
import type { Socket } from 'node:net'
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'

import { attackText } from '../client/victim.ts'
import { mostOf } from './hostile-framing.ts'
import {
  attackBody,
  chunkEvent,
  completeBody,
  responseHead,
  withLength,
  type HostileMode,
  type Outcome,
} from './hostile-upstream.ts'

type Expected = readonly [response: Outcome, stream: Outcome]

const MiB = 1024 * 1024
const neither: Expected = ['unavailable', 'unavailable']
const both: Expected = ['complete', 'complete']

function withBody(name: string, expected: Expected, body: (isStream: boolean) => string): HostileMode {
  const respond = (socket: Socket, isStream: boolean): void => {
    socket.write(Buffer.from(withLength(body(isStream), isStream), 'latin1'))
  }
  return { name, expected, respond }
}

/** A compressed body: `count` times the same compressed part of 8 MiB. */
function bomb(coding: string, compress: (bytes: Buffer) => Buffer, count: number): HostileMode {
  let part: Buffer | undefined
  const respond = (socket: Socket, isStream: boolean): void => {
    part ??= compress(Buffer.alloc(8 * MiB, '\n'))
    socket.write(responseHead(isStream, `Content-Encoding: ${coding}\r\n`))
    for (let nth = 0; nth < count; nth += 1) socket.write(part)
    socket.end()
  }
  return { name: `a decompression bomb (${coding})`, expected: neither, respond }
}

const brotli = (bytes: Buffer): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })

function nested(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}

const deep = nested(2_000_000)
const json = (body: string, isStream: boolean): string => (isStream ? `data: ${body}\n\n` : body)

const structures: readonly HostileMode[] = [
  withBody('deeply nested content', neither, (isStream) =>
    json(`{"choices":[{"index":0,"${isStream ? 'delta' : 'message'}":{"content":${deep}}}]}`, isStream),
  ),
  withBody('deeply nested usage at the end', ['unavailable', 'truncated'], (isStream) => {
    const usage = `"usage":{"prompt_tokens":1,"completion_tokens":1,"x":${deep}}`
    if (!isStream) return `{"choices":[{"index":0,"message":{"content":"${attackText}"}}],${usage}}`
    return `${chunkEvent({ content: attackText })}data: {"choices":[],${usage}}\n\n`
  }),
  withBody('a deeply nested id', neither, (isStream) => {
    const choice = `{"index":0,"${isStream ? 'delta' : 'message'}":{"content":"${attackText}"}}`
    return json(`{"id":${nested(20_000)},"choices":[${choice}]}`, isStream)
  }),
  {
    name: 'a deeply nested error',
    expected: neither,
    respond(socket) {
      const body = `{"message":${nested(30_000)}}`
      socket.write(
        `HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    },
  },
  withBody('brackets that never close', neither, (isStream) => json('['.repeat(4 * MiB), isStream)),
  withBody('400,000 choices', neither, (isStream) =>
    json(`{"choices":[${'{"index":0},'.repeat(400_000)}{}]}`, isStream),
  ),
]

const floods: readonly HostileMode[] = [
  bomb('gzip', gzipSync, 50),
  bomb('br', brotli, 1),
  bomb('zstd', zstdCompressSync, 50),
  withBody('an event of 40 MiB', neither, () => `data: ${'x'.repeat(40 * MiB)}`),
  withBody('a flood of comments', ['unavailable', 'complete'], (isStream) => {
    return ': x\n\n'.repeat(1_600_000) + attackBody(isStream)
  }),
  withBody('a flood of blank lines', ['unavailable', 'complete'], (isStream) => {
    return '\r\n'.repeat(2_000_000) + (isStream ? attackBody(isStream) : '{')
  }),
  withBody('a finish reason of 1 MiB', both, (isStream) =>
    attackBody(isStream).replace('"stop"', `"${'x'.repeat(MiB)}"`),
  ),
]

const contents: readonly HostileMode[] = [
  withBody('invalid UTF-8', neither, (isStream) => json('{"choices":[{"\xff":"\xc0\x80', isStream)),
  withBody('text after the end', ['unavailable', 'complete'], (isStream) => {
    return attackBody(isStream) + (isStream ? chunkEvent({ content: attackText }) : '{}')
  }),
  withBody('an error after the content', ['unavailable', 'truncated'], (isStream) => {
    const error = json('{"error":{"message":"no"}}', isStream)
    return isStream ? chunkEvent({ content: attackText }) + error : error
  }),
  withBody('absurd usage', both, (isStream) => {
    const usage = { prompt_tokens: Number.MAX_VALUE, completion_tokens: 1e300, total_tokens: -1 }
    return completeBody(attackText, isStream, { usage })
  }),
]

/** Sends a byte of white space now and then, until the connection closes. */
function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('\n'), 20)
  socket.on('close', () => clearInterval(timer))
}

const silences: readonly HostileMode[] = [
  { name: 'silence', expected: neither, isSilent: true, respond() {} },
  {
    name: 'silence after most of the response',
    expected: ['unavailable', 'truncated'],
    isSilent: true,
    respond: (socket, isStream) => {
      socket.write(responseHead(isStream, 'Content-Length: 100000\r\n') + mostOf(attackBody(isStream)))
    },
  },
  {
    name: 'a body of single bytes',
    expected: neither,
    isSilent: true,
    respond: (socket, isStream) => {
      socket.write(responseHead(isStream))
      drip(socket)
    },
  },
]

export const hostileBodies: readonly HostileMode[] = [...structures, ...floods, ...contents, ...silences]
