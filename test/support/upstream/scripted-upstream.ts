/**
 * A provider that does as told: a real HTTP server on a port of its own, for every story and bench that needs one.
 * It plays scripts (scripts.ts), keeps a log of what it was asked and a meter of what its callers took, and tells
 * tests when something happened, so that no test has to sleep.
 */

import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { modelOf, openExchange, receive } from './exchange.ts'
import type { Received, Script } from './exchange.ts'
import { saying } from './scripted-responses.ts'

const patienceMs = 60_000

/** Opens an upstream on a free port of 127.0.0.1 that plays `script` until told otherwise. */
export async function openUpstream(script: Script = saying('Hello!')): Promise<ScriptedUpstream> {
  const upstream = new ScriptedUpstream(script)
  await upstream.listen()
  return upstream
}

export class ScriptedUpstream {
  /** Every request whose body has arrived, oldest first. */
  readonly requests: Received[] = []
  /** Connections opened to this upstream so far. */
  connections = 0
  /** Exchanges that are running, and the most there ever were at once. */
  inFlight = 0
  peakInFlight = 0

  private readonly server: Server
  private readonly queue: Script[] = []
  private readonly byModel = new Map<string, Script>()
  private usual: Script
  private readonly arrivals = new Feed<Received>('a request')
  private readonly departures = new Feed<Received>('a caller who leaves')
  private readonly bugs: unknown[] = []

  constructor(script: Script) {
    this.usual = script
    this.server = createServer({ keepAliveTimeout: 120_000, requestTimeout: 0, headersTimeout: 0 })
    this.server.on('connection', () => this.connections++)
    this.server.on('request', (request, response) => {
      this.answer(request, response).catch((error: unknown) => this.bugs.push(error))
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

  /** The base URL that a client of the common format would be given. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`
  }

  /** Plays these scripts for the next requests, one each, before anything else. */
  next(...scripts: Script[]): this {
    this.queue.push(...scripts)
    return this
  }

  /** Plays the script for one model, as the upstream names it. */
  forModel(model: string, script: Script): this {
    this.byModel.set(model, script)
    return this
  }

  /** Plays the script whenever nothing else is said. */
  always(script: Script): this {
    this.usual = script
    return this
  }

  /** The next request, in order of arrival, that no call of `sawRequest` has returned yet. */
  sawRequest(): Promise<Received> {
    return this.arrivals.take()
  }

  /** The next request, in order, whose caller left before its answer was complete. */
  sawClose(): Promise<Received> {
    return this.departures.take()
  }

  /** Ends every connection. Throws what a script threw, for that is a mistake in the test. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve())
      this.server.closeAllConnections()
    })
    if (this.bugs.length > 0) throw new AggregateError(this.bugs, 'a script failed')
  }

  private async answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const over = new AbortController()
    const ended = Promise.withResolvers<void>()
    response.once('close', () => {
      over.abort()
      ended.resolve()
    })
    const request = await receive(incoming, ended.promise).catch(() => null)
    if (!request) return
    response.once('close', () => {
      this.inFlight--
      if (request.finished || request.wasReset || response.writableFinished) return
      request.abortedAt = performance.now()
      this.departures.give(request)
    })
    this.inFlight++
    this.peakInFlight = Math.max(this.peakInFlight, this.inFlight)
    this.requests.push(request)
    this.arrivals.give(request)
    const script = this.queue.shift() ?? this.byModel.get(modelOf(request)) ?? this.usual
    await script(openExchange(request, response, over.signal))
  }
}

/** Things that happen one after another, each handed to one waiter. */
class Feed<Item> {
  private readonly items: Item[] = []
  private readonly waiters: ((item: Item) => void)[] = []
  private readonly awaited: string

  constructor(awaited: string) {
    this.awaited = awaited
  }

  give(item: Item): void {
    const waiter = this.waiters.shift()
    if (waiter) waiter(item)
    else this.items.push(item)
  }

  take(): Promise<Item> {
    const item = this.items.shift()
    if (item !== undefined) return Promise.resolve(item)
    return new Promise((resolve, reject) => {
      const waiter = (arrived: Item) => {
        clearTimeout(patience)
        resolve(arrived)
      }
      const patience = setTimeout(() => {
        this.waiters.splice(this.waiters.indexOf(waiter), 1)
        reject(new Error(`the upstream waited ${patienceMs} ms for ${this.awaited}`))
      }, patienceMs)
      this.waiters.push(waiter)
    })
  }
}
