/**
 * Requests at a constant rate, from a separate thread with its own upstream, so that nothing else in the test affects the
 * measurement. The latency of each request counts from the moment at which it was due.
 */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'
import { respondWith } from '../support/upstream/scripted-responses.ts'

export interface LoadRound {
  readonly url: string
  readonly secret: string
  readonly model: string
  readonly perSecond: number
  readonly seconds: number
}

export class SteadyLoad {
  readonly upstreamUrl: string
  readonly #worker: Worker

  private constructor(worker: Worker, upstreamUrl: string) {
    this.#worker = worker
    this.upstreamUrl = upstreamUrl
  }

  static async open(): Promise<SteadyLoad> {
    const worker = new Worker(fileURLToPath(import.meta.url))
    const [url] = (await once(worker, 'message')) as [string]
    return new SteadyLoad(worker, url)
  }

  /** The latency of each request in ms. Throws if a status is not 200. */
  async measure(round: LoadRound): Promise<readonly number[]> {
    const response = once(this.#worker, 'message')
    this.#worker.postMessage(round)
    const [latenciesMs] = (await response) as [readonly number[] | string]
    if (typeof latenciesMs === 'string') throw new Error(latenciesMs)
    return latenciesMs
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}

async function sendRequest({ url, secret, model }: LoadRound, dueMs: number): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 10 }),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
  return performance.now() - dueMs
}

function runRound(round: LoadRound): Promise<readonly number[]> {
  const calls: Promise<number>[] = []
  const startMs = performance.now()
  const { promise, resolve } = Promise.withResolvers<void>()
  const everyMs = 1000 / round.perSecond
  const all = round.perSecond * round.seconds
  const timer = setInterval(() => {
    while (calls.length < all && performance.now() >= startMs + calls.length * everyMs) {
      calls.push(sendRequest(round, startMs + calls.length * everyMs))
    }
    if (calls.length < all) return
    clearInterval(timer)
    resolve()
  }, 1)
  return promise.then(() => Promise.all(calls))
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  const upstream = await startScriptedUpstream(respondWith('Hello!', { input: 10, output: 2 }))
  port.on('message', (round: LoadRound) => {
    runRound(round).then(
      (took) => port.postMessage(took),
      (error: unknown) => port.postMessage(String(error)),
    )
  })
  port.postMessage(upstream.url)
}
