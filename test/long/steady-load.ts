/**
 * Callers at a steady pace, in a thread of their own with an upstream of their own, so that nothing else that a test
 * does is in what they measure. Each call is timed from the moment at which it was due.
 */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { openUpstream } from '../support/upstream/scripted-upstream.ts'
import { saying } from '../support/upstream/scripted-responses.ts'

export interface Round {
  readonly url: string
  readonly secret: string
  readonly model: string
  readonly perSecond: number
  readonly seconds: number
}

export class SteadyCalls {
  readonly upstreamUrl: string
  readonly #worker: Worker

  private constructor(worker: Worker, upstreamUrl: string) {
    this.#worker = worker
    this.upstreamUrl = upstreamUrl
  }

  static async open(): Promise<SteadyCalls> {
    const worker = new Worker(fileURLToPath(import.meta.url))
    const [url] = (await once(worker, 'message')) as [string]
    return new SteadyCalls(worker, url)
  }

  /** How long each call took, in ms. Throws when one was not answered with 200. */
  async measure(round: Round): Promise<readonly number[]> {
    const answer = once(this.#worker, 'message')
    this.#worker.postMessage(round)
    const [took] = (await answer) as [readonly number[] | string]
    if (typeof took === 'string') throw new Error(took)
    return took
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}

async function call({ url, secret, model }: Round, dueMs: number): Promise<number> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 10 }),
  })
  const text = await reply.text()
  if (reply.status !== 200) throw new Error(text)
  return performance.now() - dueMs
}

function carryOut(round: Round): Promise<readonly number[]> {
  const calls: Promise<number>[] = []
  const startMs = performance.now()
  const { promise, resolve } = Promise.withResolvers<void>()
  const everyMs = 1000 / round.perSecond
  const all = round.perSecond * round.seconds
  const timer = setInterval(() => {
    while (calls.length < all && performance.now() >= startMs + calls.length * everyMs) {
      calls.push(call(round, startMs + calls.length * everyMs))
    }
    if (calls.length < all) return
    clearInterval(timer)
    resolve()
  }, 1)
  return promise.then(() => Promise.all(calls))
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  const upstream = await openUpstream(saying('Hello!', { input: 10, output: 2 }))
  port.on('message', (round: Round) => {
    carryOut(round).then(
      (took) => port.postMessage(took),
      (error: unknown) => port.postMessage(String(error)),
    )
  })
  port.postMessage(upstream.url)
}
