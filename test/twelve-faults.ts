/**
 * Twelve ways for an upstream to be down, and a load over two upstreams of which the first is: what callers got, what
 * it cost in attempts, and what was asked of whom. The stories use it with few requests, the long form with many.
 */

import assert from 'node:assert/strict'

import { question, payloadsOf, type Account } from './support/server/account.ts'
import { chunksOf, wordsOf } from './support/client/responses.ts'
import {
  blackhole,
  brokenTls,
  connectionRefusedUrl,
  unresolvableUrl,
} from './support/upstream/unreachable-addresses.ts'
import type { Script } from './support/upstream/exchange.ts'
import type { House, KnownUpstream } from './support/server/test-server.ts'
import {
  cutOff,
  cutAt,
  garbage,
  mute,
  muteAfterHeaders,
  truncating,
} from './support/upstream/fault-injection.ts'
import { openUpstream } from './support/upstream/scripted-upstream.ts'
import { failing, saying, sayingMany } from './support/upstream/scripted-responses.ts'

/** An upstream that is down: where it is, who answers there if anybody does, and how to take it away. */
interface Down {
  readonly url: string
  readonly server?: Awaited<ReturnType<typeof openUpstream>>
  close(): Promise<void>
}

const usage = { input: 10, output: 5 }

async function scripted(script: Script): Promise<Down> {
  const server = await openUpstream(script)
  return { url: server.url, server, close: () => server.close() }
}

function nowhere(url: string): Down {
  return { url, close: () => Promise.resolve() }
}

/** Sends the head of a whole answer, or of a stream, and nothing more. */
const muteAfterEither: Script = (exchange) =>
  exchange.request.json['stream'] === true ? muteAfterHeaders(exchange) : headOnly(exchange)

const headOnly: Script = async (exchange) => {
  exchange.head(200, { 'content-type': 'application/json' })
  await exchange.request.over
}

/** Cuts a stream after its first words, and a whole answer in its middle. */
const cutInTheMiddle: Script = (exchange) =>
  exchange.request.json['stream'] === true
    ? truncating(3, 'reset', sayingMany(9, usage))(exchange)
    : cutOff(40, saying('x'.repeat(500), usage))(exchange)

export const twelveFaults: Readonly<Record<string, () => Promise<Down>>> = {
  'refuses connections': async () => nowhere(await connectionRefusedUrl()),
  'takes no connections': blackhole,
  'has a name that nobody knows': () => Promise.resolve(nowhere(unresolvableUrl)),
  'speaks no TLS': brokenTls,
  'answers 500': () => scripted(failing(500)),
  'answers 429': () => scripted(failing(429)),
  'answers 401': () => scripted(failing(401)),
  'hangs before its headers': () => scripted(mute),
  'hangs after its headers': () => scripted(muteAfterEither),
  'sends garbage': () => scripted(garbage),
  'cuts in the middle': () => scripted(cutInTheMiddle),
  'sends a byte a second': () => scripted(cutAt('every byte', saying('Hello!', usage), 1000)),
}

export interface Load {
  readonly requests: number
  readonly concurrency: number
  readonly stream: boolean
}

export interface Outcome {
  /** Answers that were complete, of all requests. */
  readonly complete: number
  /** Answers that had begun, complete or not. */
  readonly begun: number
  readonly attempts: number
  /** Questions that were put to the second upstream after content of the first had gone out. */
  readonly sentAgain: number
}

const hasty = { connect_ms: 250, first_token_ms: 250, idle_ms: 250, answer_ms: 250 }

/** Puts the load on a model whose first upstream is down so, and tells what came of it. */
export async function loadWithFault(house: House, name: string, load: Load): Promise<Outcome> {
  const down = await twelveFaults[name]?.()
  if (!down) throw new Error(`There is no fault "${name}".`)
  try {
    const first = await house.upstreamAt(down.url, { timeouts: hasty })
    const second = await house.upstream(saying('Hello!', usage))
    const model = `m-${first.id}`
    await house.model(model, { upstreams: [first, second] })
    const account = await house.account({ balance: '¥1000' })
    const texts: string[] = []
    const begun = await inParallel(load, async (number) => {
      const text = `question ${number}`
      const got = await ask(account, { model, text, stream: load.stream })
      if (got.hasBegun && !got.isComplete) texts.push(text)
      return got
    })
    return {
      complete: begun.filter(({ isComplete }) => isComplete).length,
      begun: begun.filter(({ hasBegun }) => hasBegun).length,
      attempts: await attemptsOf(account, load.requests),
      sentAgain: texts.filter((text) => wasAsked(second, text)).length,
    }
  } finally {
    await down.close()
  }
}

function wasAsked(upstream: KnownUpstream, text: string): boolean {
  return upstream.requests.some((request) => request.text.includes(`"${text}"`))
}

/** Runs `act` for each number, so many at a time. */
export async function inParallel<Result>(
  { requests, concurrency }: Pick<Load, 'requests' | 'concurrency'>,
  act: (number: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let number = next++; number < requests; number = next++) results.push(await act(number))
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return results
}

interface Got {
  readonly hasBegun: boolean
  readonly isComplete: boolean
}

async function ask(
  account: Account,
  { model, text, stream }: { model: string; text: string; stream: boolean },
): Promise<Got> {
  const reply = await account.post({
    ...question(model, { stream }),
    messages: [{ role: 'user', content: text }],
  })
  if (!stream) {
    const isComplete = reply.status === 200 && (await reply.text()).includes('Hello!')
    return { hasBegun: isComplete, isComplete }
  }
  const payloads = await payloadsOf(reply)
  const hasBegun = chunksOf(payloads).some(({ choices }) => typeof choices?.[0]?.delta?.content === 'string')
  return { hasBegun, isComplete: payloads.at(-1) === '[DONE]' && wordsOf(payloads) === 'Hello!' }
}

/** Attempts of all the account's requests, a thousand at most. */
export async function attemptsOf(account: Account, requests: number): Promise<number> {
  const records = await account.requests({ limit: '1000' })
  assert.equal(records.length, requests, 'each request has its record')
  return records.reduce((sum, { attempts }) => sum + attempts.length, 0)
}
