/** Whether places can be reached and ports be had, for the doctor: connections that carry no request, or one. */

import { get, type IncomingMessage } from 'node:http'
import { get as getOverTls } from 'node:https'
import { connect, createServer, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { forbiddenReason, guardedLookup, type Cidr } from '../lib/address-guard.ts'
import { failureKind, type FailureKind, type Stage } from '../lib/http-client/failure.ts'

export interface Reach {
  readonly ok: boolean
  readonly durationMs: number
  /** What happened, in words. */
  readonly message: string
}

const meanings: Readonly<Record<FailureKind, string>> = {
  forbidden_address: 'its address is not allowed',
  dns: 'its name has no address',
  refused: 'no connection',
  tls: 'no secure connection',
  timeout: 'no answer in time',
  proxy: 'the proxy does not let us through',
  reset: 'the connection was cut',
  malformed: 'the answer is not HTTP',
}

/** Connects as the relay would (name, address guard, TCP, TLS with its certificate) and sends nothing. */
export async function reach(url: string, allow: readonly Cidr[], timeoutMs: number): Promise<Reach> {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const started = performance.now()
  const told = (ok: boolean, message: string): Reach => ({
    ok,
    durationMs: Math.round(performance.now() - started),
    message,
  })
  const reason = isIP(host) === 0 ? null : forbiddenReason(host, allow)
  if (reason !== null) return told(false, `${meanings.forbidden_address}: ${host} is ${reason}`)

  const { promise, resolve } = Promise.withResolvers<Reach>()
  let stage: Stage = 'connecting'
  const target = { host, port: Number(port) || (isTls ? 443 : 80), lookup: guardedLookup(allow) }
  const socket = isTls ? connectTls({ ...target, servername: isIP(host) === 0 ? host : '' }) : connect(target)
  socket.setTimeout(timeoutMs, () => resolve(told(false, meanings.timeout)))
  socket.on('error', (error: NodeJS.ErrnoException) => {
    resolve(told(false, `${meanings[failureKind(error, stage)]} (${error.code ?? error.message})`))
  })
  socket.on('connect', () => {
    stage = 'securing'
    if (!isTls) resolve(told(true, 'connected'))
  })
  socket.on('secureConnect', () => resolve(told(true, 'connected, its certificate is valid')))
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

/** Null when the port can be had, else the system's code (`EADDRINUSE`, `EACCES` …). */
export async function portProblem(host: string, port: number): Promise<string | null> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<string | null>()
  server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  return promise
}

/** The status of a GET on this machine, or why there is none; a certificate is that of another name here. */
export async function statusOf(url: string, timeoutMs: number): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>()
  const onAnswer = (answer: IncomingMessage): void => {
    answer.resume()
    resolve(answer.statusCode ?? 0)
  }
  const options = { timeout: timeoutMs, agent: false } as const
  const request = url.startsWith('https:')
    ? getOverTls(url, { ...options, rejectUnauthorized: false }, onAnswer)
    : get(url, options, onAnswer)
  request.on('timeout', () => request.destroy(new Error('no answer in time')))
  request.on('error', (error) => resolve(error.message))
  return promise
}
