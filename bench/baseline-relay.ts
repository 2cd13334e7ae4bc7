/**
 * The baseline relay that the product is compared with: node:http and undici `dispatch`, one key lookup, the
 * body parsed, the model renamed and the body serialised again, the usage parsed and summed in memory. No
 * limits, no ledger, no disk. Runs on one thread, or on as many as the product has workers. Arguments: its
 * port, the upstream's port, threads, the key.
 */

import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isMainThread, Worker } from 'node:worker_threads'

import { Pool } from 'undici'
import type { Dispatcher } from 'undici'

import { clientModel, upstreamModel } from './payloads.ts'

const [port = '0', upstreamPort = '0', threads = '1', key = ''] = process.argv.slice(2)

const accounts = new Map([[`Bearer ${key}`, { tokens: 0 }]])
const models = new Map([[clientModel, upstreamModel]])
const upstream = new Pool(`http://127.0.0.1:${upstreamPort}`, { connections: null, pipelining: 1 })
const upstreamHeaders = ['content-type', 'application/json', 'authorization', 'Bearer sk-upstream']

type Account = { tokens: number }
type Counted = { usage?: { total_tokens: number } | null }

function serve(request: IncomingMessage, response: ServerResponse): void {
  const account = accounts.get(request.headers.authorization ?? '')
  if (!account) {
    response.writeHead(401).end()
    return
  }
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => relay(request.url ?? '/', Buffer.concat(parts).toString(), account, response))
}

function relay(path: string, text: string, account: Account, response: ServerResponse): void {
  const body = JSON.parse(text) as { model: string }
  body.model = models.get(body.model) ?? body.model
  upstream.dispatch(
    { path, method: 'POST', headers: upstreamHeaders, body: JSON.stringify(body) },
    new RelayHandler(account, response),
  )
}

class RelayHandler implements Dispatcher.DispatchHandler {
  private readonly account: Account
  private readonly response: ServerResponse
  private readonly chunks: Buffer[] = []
  private isStream = false
  private status = 200

  constructor(account: Account, response: ServerResponse) {
    this.account = account
    this.response = response
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.response.once('close', () => {
      if (!this.response.writableFinished) controller.abort(new Error('the client disconnected'))
    })
    this.response.on('drain', () => controller.resume())
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: { 'content-type'?: string },
  ): void {
    this.status = status
    this.isStream = headers['content-type']?.startsWith('text/event-stream') ?? false
    if (this.isStream) this.response.writeHead(status, { 'content-type': 'text/event-stream; charset=utf-8' })
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (!this.isStream) {
      this.chunks.push(bytes)
      return
    }
    const at = bytes.indexOf('"usage":')
    if (at >= 0) this.readUsage(bytes, at)
    if (!this.response.write(bytes)) controller.pause()
  }

  onResponseEnd(): void {
    if (this.isStream) {
      this.response.end()
      return
    }
    const bytes = this.chunks.length === 1 && this.chunks[0] ? this.chunks[0] : Buffer.concat(this.chunks)
    this.countTokens(JSON.parse(bytes.toString()))
    const headers = { 'content-type': 'application/json', 'content-length': bytes.length }
    this.response.writeHead(this.status, headers).end(bytes)
  }

  onResponseError(): void {
    if (this.response.headersSent) this.response.destroy()
    else this.response.writeHead(503).end()
  }

  /** Parses the usage of the event around `at`. */
  private readUsage(bytes: Buffer, at: number): void {
    const start = bytes.lastIndexOf('data: ', at) + 'data: '.length
    this.countTokens(JSON.parse(bytes.toString('utf8', start, bytes.indexOf('\n\n', at))))
  }

  private countTokens(answer: unknown): void {
    const { usage, response } = answer as Counted & { response?: Counted }
    this.account.tokens += (usage ?? response?.usage)?.total_tokens ?? 0
  }
}

if (isMainThread && Number(threads) > 1) {
  for (let started = 0; started < Number(threads); started++) {
    new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
  }
} else {
  const server = createServer({ keepAliveTimeout: 120_000 }, serve)
  server.listen({ port: Number(port), host: '127.0.0.1', backlog: 1024, reusePort: Number(threads) > 1 })
}
if (isMainThread) process.once('disconnect', () => process.exit())
