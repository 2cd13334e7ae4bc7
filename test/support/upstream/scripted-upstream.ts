/**
 * A scripted provider: a real HTTP server on its own port, for end-to-end tests and benchmarks. It runs scripts
 * (scripted-responses.ts), records its requests and the bytes that its callers read, and lets tests wait for events, so
 * that no test needs to sleep.
 */

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { requestedModel, createExchange, readRequest } from './exchange.ts'
import type { ReceivedRequest, Script } from './exchange.ts'
import { respondWith } from './scripted-responses.ts'
import { strict, type StrictFormat, type StrictOptions } from './strict-upstream.ts'

const timeoutMs = 60_000

/** Starts an upstream on a free port of 127.0.0.1 that responds with `script` by default. */
export async function startScriptedUpstream(
  script: Script = respondWith('Hello!'),
): Promise<ScriptedUpstream> {
  const upstream = new ScriptedUpstream(script)
  await upstream.listen()
  return upstream
}

export class ScriptedUpstream {
  /** Every complete request, oldest first. */
  readonly requests: ReceivedRequest[] = []
  /** Connections accepted so far. */
  connections = 0
  /** Exchanges in progress, and their maximum so far. */
  inFlight = 0
  peakInFlight = 0

  private readonly server: Server
  private readonly queue: Script[] = []
  private readonly byModel = new Map<string, Script>()
  private defaultScript: Script
  private validate = (script: Script): Script => script
  private readonly received = new WaitQueue<ReceivedRequest>('a request')
  private readonly disconnects = new WaitQueue<ReceivedRequest>('a caller to disconnect')
  private readonly scriptErrors: unknown[] = []

  constructor(script: Script) {
    this.defaultScript = script
    this.server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0, headersTimeout: 0 })
    this.server.on('connection', () => this.connections++)
    this.server.on('request', (request, response) => {
      this.handle(request, response).catch((error: unknown) => this.scriptErrors.push(error))
    })
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen(port, '127.0.0.1', resolve)
    })
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** The base URL for an OpenAI client. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`
  }

  /** Runs these scripts for the next requests, one each; they take precedence. */
  next(...scripts: Script[]): this {
    this.queue.push(...scripts)
    return this
  }

  /** Runs the script for one model, by the upstream's name for it. */
  forModel(model: string, script: Script): this {
    this.byModel.set(model, script)
    return this
  }

  /** Replaces the default script. */
  always(script: Script): this {
    this.defaultScript = script
    return this
  }

  /** Rejects from now on what the provider rejects, whichever script would respond. */
  strict(format: StrictFormat, options?: StrictOptions): this {
    this.validate = (script) => strict(format, script, options)
    return this
  }

  /** Waits for the next request, in order of arrival, that no earlier call has returned. */
  nextRequest(): Promise<ReceivedRequest> {
    return this.received.take()
  }

  /** Waits for the next request whose caller disconnected before the response was complete. */
  nextDisconnect(): Promise<ReceivedRequest> {
    return this.disconnects.take()
  }

  /** Closes every connection. Throws what a script threw, since that is a bug in the test. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve())
      this.server.closeAllConnections()
    })
    if (this.scriptErrors.length > 0) throw new AggregateError(this.scriptErrors, 'a script failed')
  }

  private async handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const abort = new AbortController()
    const ended = Promise.withResolvers<void>()
    response.once('close', () => {
      abort.abort()
      ended.resolve()
    })
    const request = await readRequest(incoming, ended.promise).catch(() => null)
    if (!request) return
    response.once('close', () => {
      this.inFlight--
      if (request.finished || request.wasReset || response.writableFinished) return
      request.abortedAt = performance.now()
      this.disconnects.push(request)
    })
    this.inFlight++
    this.peakInFlight = Math.max(this.peakInFlight, this.inFlight)
    this.requests.push(request)
    this.received.push(request)
    const script = this.queue.shift() ?? this.byModel.get(requestedModel(request)) ?? this.defaultScript
    await this.validate(script)(createExchange(request, response, abort.signal))
  }
}

/** A queue of events, each delivered to one waiter. */
class WaitQueue<Item> {
  private readonly items: Item[] = []
  private readonly waiters: ((item: Item) => void)[] = []
  private readonly awaited: string

  constructor(awaited: string) {
    this.awaited = awaited
  }

  push(item: Item): void {
    const waiter = this.waiters.shift()
    if (waiter) waiter(item)
    else this.items.push(item)
  }

  take(): Promise<Item> {
    const item = this.items.shift()
    if (item !== undefined) return Promise.resolve(item)
    return new Promise((resolve, reject) => {
      const waiter = (arrived: Item) => {
        clearTimeout(timer)
        resolve(arrived)
      }
      const timer = setTimeout(() => {
        this.waiters.splice(this.waiters.indexOf(waiter), 1)
        reject(new Error(`the upstream waited ${timeoutMs} ms for ${this.awaited}`))
      }, timeoutMs)
      this.waiters.push(waiter)
    })
  }
}
