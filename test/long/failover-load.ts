/**
 * Twelve faults of an upstream, and a load on two upstreams of which the first has one: counts complete responses,
 * attempts, and requests sent again. Used with few requests in the end-to-end tests and with many in the long ones.
 */

import assert from 'node:assert/strict'

import { chatRequest, readPayloads, type Account } from '../support/server/account.ts'
import { parseChunks, streamedText } from '../support/client/responses.ts'
import {
  blackhole,
  brokenTls,
  connectionRefusedUrl,
  unresolvableUrl,
} from '../support/upstream/unreachable-addresses.ts'
import type { Script } from '../support/upstream/exchange.ts'
import type { TestServer, RegisteredUpstream } from '../support/server/test-server.ts'
import {
  resetAfterBytes,
  splitAt,
  respondWithGarbage,
  neverRespond,
  hangAfterHeaders,
  truncateAfter,
} from '../support/upstream/fault-injection.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'
import { respondWithError, respondWith, respondWithDeltas } from '../support/upstream/scripted-responses.ts'

/** A faulty upstream and, if it is reachable, its server. */
interface FaultyUpstream {
  readonly url: string
  readonly server?: Awaited<ReturnType<typeof startScriptedUpstream>>
  close(): Promise<void>
}

const usage = { input: 10, output: 5 }

async function faultyServer(script: Script): Promise<FaultyUpstream> {
  const server = await startScriptedUpstream(script)
  return { url: server.url, server, close: () => server.close() }
}

function faultyAddress(url: string): FaultyUpstream {
  return { url, close: () => Promise.resolve() }
}

/** Sends the headers of a response, streaming or not, and nothing more. */
const hangAfterAnyHeaders: Script = (exchange) =>
  exchange.request.json['stream'] === true ? hangAfterHeaders(exchange) : sendHeadersOnly(exchange)

const sendHeadersOnly: Script = async (exchange) => {
  exchange.head(200, { 'content-type': 'application/json' })
  await exchange.request.over
}

/** Truncates a stream after its first content, and any other response in its middle. */
const truncateMidway: Script = (exchange) =>
  exchange.request.json['stream'] === true
    ? truncateAfter(3, 'reset', respondWithDeltas(9, usage))(exchange)
    : resetAfterBytes(40, respondWith('x'.repeat(500), usage))(exchange)

const upstreamFaults = {
  'refuses connections': async () => faultyAddress(await connectionRefusedUrl()),
  'accepts no connections': blackhole,
  'has an unknown host name': () => Promise.resolve(faultyAddress(unresolvableUrl)),
  'does not speak TLS': brokenTls,
  'returns 500': () => faultyServer(respondWithError(500)),
  'returns 429': () => faultyServer(respondWithError(429)),
  'returns 401': () => faultyServer(respondWithError(401)),
  'hangs before its headers': () => faultyServer(neverRespond),
  'hangs after its headers': () => faultyServer(hangAfterAnyHeaders),
  'sends garbage': () => faultyServer(respondWithGarbage),
  'truncates its response': () => faultyServer(truncateMidway),
  'sends one byte per second': () => faultyServer(splitAt('every byte', respondWith('Hello!', usage), 1000)),
} satisfies Readonly<Record<string, () => Promise<FaultyUpstream>>>

export type UpstreamFault = keyof typeof upstreamFaults

export const faultNames = Object.keys(upstreamFaults) as UpstreamFault[]

export interface LoadOptions {
  readonly requests: number
  readonly concurrency: number
  readonly stream: boolean
}

export interface LoadResult {
  /** Complete responses. */
  readonly complete: number
  /** Responses with content, complete or not. */
  readonly started: number
  readonly attempts: number
  /** Requests sent to the second upstream after content of the first was forwarded. */
  readonly resent: number
}

const shortTimeouts = { connect_ms: 250, first_token_ms: 250, idle_ms: 250, answer_ms: 250 }

/** Runs the load on a model whose first upstream has this fault. */
export async function runLoadWithFault(
  server: TestServer,
  fault: UpstreamFault,
  load: LoadOptions,
): Promise<LoadResult> {
  const faulty: FaultyUpstream = await upstreamFaults[fault]()
  try {
    const first = await server.upstreamAt(faulty.url, { timeouts: shortTimeouts })
    const second = await server.upstream(respondWith('Hello!', usage))
    const model = `m-${first.id}`
    await server.model(model, { upstreams: [first, second] })
    const account = await server.account({ balance: '¥1000' })
    const interrupted: string[] = []
    const results = await runInParallel(load, async (number) => {
      const text = `question ${number}`
      const result = await sendRequest(account, { model, text, stream: load.stream })
      if (result.hasStarted && !result.isComplete) interrupted.push(text)
      return result
    })
    return {
      complete: results.filter(({ isComplete }) => isComplete).length,
      started: results.filter(({ hasStarted }) => hasStarted).length,
      attempts: await countAttempts(account, load.requests),
      resent: interrupted.filter((text) => hasReceived(second, text)).length,
    }
  } finally {
    await faulty.close()
  }
}

function hasReceived(upstream: RegisteredUpstream, text: string): boolean {
  return upstream.requests.some((request) => request.text.includes(`"${text}"`))
}

/** Runs `act` for each number, at most `concurrency` at a time. */
export async function runInParallel<Result>(
  { requests, concurrency }: Pick<LoadOptions, 'requests' | 'concurrency'>,
  act: (number: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let number = next++; number < requests; number = next++) results.push(await act(number))
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return results
}

interface CallResult {
  readonly hasStarted: boolean
  readonly isComplete: boolean
}

async function sendRequest(
  account: Account,
  { model, text, stream }: { model: string; text: string; stream: boolean },
): Promise<CallResult> {
  const response = await account.post({
    ...chatRequest(model, { stream }),
    messages: [{ role: 'user', content: text }],
  })
  if (!stream) {
    const isComplete = response.status === 200 && (await response.text()).includes('Hello!')
    return { hasStarted: isComplete, isComplete }
  }
  const payloads = await readPayloads(response)
  const hasStarted = parseChunks(payloads).some(
    ({ choices }) => typeof choices?.[0]?.delta?.content === 'string',
  )
  return { hasStarted, isComplete: payloads.at(-1) === '[DONE]' && streamedText(payloads) === 'Hello!' }
}

/** The attempts of all the account's requests, at most 1,000. */
export async function countAttempts(account: Account, requests: number): Promise<number> {
  const records = await account.requests({ limit: '1000' })
  assert.equal(records.length, requests, 'each request has a record')
  return records.reduce((sum, { attempts }) => sum + attempts.length, 0)
}
