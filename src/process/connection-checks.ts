/** Checks for the doctor: whether addresses can be reached and ports are free. Sends no request, or a single one. */

import { get, type IncomingMessage } from 'node:http'
import { get as getOverTls } from 'node:https'
import { connect, createServer, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { forbiddenReason, createGuardedLookup, type Cidr } from '../lib/address-guard.ts'
import { errorMessage } from '../lib/error-message.ts'
import { classifyFailure, type FailureKind, type ConnectionStage } from '../lib/http-client/failure.ts'

export interface ConnectionCheck {
  readonly ok: boolean
  readonly durationMs: number
  /** What happened. */
  readonly message: string
}

/** More than any metrics. */
const maxTextLength = 4 * 1024 * 1024

const failureMessages: Readonly<Record<FailureKind, string>> = {
  forbidden_address: 'the address is not allowed',
  dns: 'the host name was not found',
  refused: 'connection refused',
  tls: 'TLS handshake failed',
  timeout: 'timed out',
  proxy: 'the proxy rejected the connection',
  reset: 'the connection was reset',
  malformed: 'the response is not HTTP',
}

/** Connects as the relay does (DNS, address guard, TCP, TLS with its certificate) and sends nothing. */
export async function checkConnection(
  url: string,
  allow: readonly Cidr[],
  timeoutMs: number,
): Promise<ConnectionCheck> {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  const started = performance.now()
  const result = (ok: boolean, message: string): ConnectionCheck => ({
    ok,
    durationMs: Math.round(performance.now() - started),
    message,
  })
  const reason = isIP(host) === 0 ? null : forbiddenReason(host, allow)
  if (reason !== null) return result(false, `${failureMessages.forbidden_address}: ${host} is ${reason}`)

  const { promise, resolve } = Promise.withResolvers<ConnectionCheck>()
  let stage: ConnectionStage = 'connecting'
  const target = { host, port: Number(port) || (isTls ? 443 : 80), lookup: createGuardedLookup(allow) }
  const socket = isTls ? connectTls({ ...target, servername: isIP(host) === 0 ? host : '' }) : connect(target)
  socket.setTimeout(timeoutMs, () => resolve(result(false, failureMessages.timeout)))
  socket.on('error', (error: NodeJS.ErrnoException) => {
    resolve(
      result(false, `${failureMessages[classifyFailure(error, stage)]} (${error.code ?? error.message})`),
    )
  })
  socket.on('connect', () => {
    stage = 'securing'
    if (!isTls) resolve(result(true, 'connected'))
  })
  socket.on('secureConnect', () => resolve(result(true, 'connected with a valid certificate')))
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

/** Null if the port is free, otherwise the system's code (`EADDRINUSE`, `EACCES` …). */
export async function findPortProblem(host: string, port: number): Promise<string | null> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<string | null>()
  server.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  return promise
}

/** The status of a GET on this machine, or an error message. */
export function fetchStatus(url: string, timeoutMs: number): Promise<number | string> {
  return getLocally(url, timeoutMs, (response) => {
    response.resume()
    return response.statusCode ?? 0
  })
}

/** The body of a GET on this machine, or an error message. */
export function fetchText(url: string, timeoutMs: number): Promise<string> {
  return getLocally(url, timeoutMs, async (response) => {
    let body = ''
    for await (const chunk of response.setEncoding('utf8')) {
      body += chunk
      if (body.length > maxTextLength) break
    }
    return body
  })
}

/** Accepts any certificate, because it is for another host name. */
async function getLocally<Result>(
  url: string,
  timeoutMs: number,
  read: (response: IncomingMessage) => Result | Promise<Result>,
): Promise<Result | string> {
  const { promise, resolve } = Promise.withResolvers<Result | string>()
  const onResponse = (response: IncomingMessage): void => {
    void Promise.resolve(read(response)).then(resolve, (error: unknown) => resolve(errorMessage(error)))
  }
  const options = { timeout: timeoutMs, agent: false } as const
  const request = url.startsWith('https:')
    ? getOverTls(url, { ...options, rejectUnauthorized: false }, onResponse)
    : get(url, options, onResponse)
  request.on('timeout', () => request.destroy(new Error('timed out')))
  request.on('error', (error) => resolve(error.message))
  return promise
}
