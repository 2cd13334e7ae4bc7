/**
 * Callers that disconnect in every phase of a request, several at once and at moments that a seed decides, on an account
 * that may run two requests at a time. Afterwards both slots must be free, and nothing may be held.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Prng } from '../../sim/prng.ts'
import { requestHead } from '../support/client/raw-http.ts'
import { chatRequest, type Account } from '../support/server/account.ts'
import type { RegisteredUpstream, TestServer } from '../support/server/test-server.ts'
import type { Exchange, Script } from '../support/upstream/exchange.ts'
import { paceEvents, waitFor } from '../support/upstream/fault-injection.ts'
import { respondWith, respondWithDeltas } from '../support/upstream/scripted-responses.ts'
import { waitUntil } from '../support/wait.ts'

const phases = [
  'in the head',
  'in the body',
  'during admission',
  'before the first byte',
  'at the first byte',
  'in the stream',
  'after the last byte',
  'during a replay',
] as const
type Phase = (typeof phases)[number]

/** More than the two slots, so that some calls are rejected while others disconnect. */
const clientCount = 3
const deltas = 8
const storedKey = 'stored'
/** Too large for one packet. */
const largeText = 'x'.repeat(500_000)
const usage = { input: 10, output: deltas }

interface CallPlan {
  readonly name: string
  readonly phase: Phase
  readonly stream: boolean
  /** Chunked bodies are served by node:http, others by the fast path. */
  readonly isChunked: boolean
  readonly key: string | null
  /** Closes with a reset instead of an orderly end. */
  readonly resets: boolean
  readonly prng: Prng
}

function planOf(seed: number, call: number): CallPlan {
  const prng = new Prng(seed * 1_000_003 + call)
  const phase = prng.pick(phases)
  const isReplay = phase === 'during a replay'
  const ownKey = prng.bool(0.3) ? `key-${seed}-${call}` : null
  return {
    name: `call-${call}`,
    phase,
    stream: !isReplay && prng.bool(0.7),
    isChunked: prng.bool(0.5),
    key: isReplay ? storedKey : ownKey,
    resets: prng.bool(0.5),
    prng,
  }
}

/** Holds requests until it is opened. */
class Gate {
  readonly opened = Promise.withResolvers<void>()
  readonly #twoArrived = Promise.withResolvers<void>()
  #arrived = 0

  get twoArrived(): Promise<void> {
    return this.#twoArrived.promise
  }

  arrive(): void {
    this.#arrived += 1
    if (this.#arrived === 2) this.#twoArrived.resolve()
  }
}

/** The upstream's view of the calls: it tells when one arrives, and waits for what a test controls. */
class ObservedUpstream {
  readonly #arrivals = new Map<string, PromiseWithResolvers<void>>()
  readonly #departures = new Map<string, PromiseWithResolvers<void>>()
  gate = new Gate()

  readonly script: Script = async (exchange: Exchange) => {
    const { text } = exchange.request
    if (text.includes('gated')) {
      this.gate.arrive()
      return waitFor(this.gate.opened.promise, respondWith('Hello!', usage))(exchange)
    }
    const name = /call-\d+/.exec(text)?.[0]
    if (name === undefined) return respondWith(largeText, usage)(exchange)
    this.#entry(this.#arrivals, name).resolve()
    const response = paceEvents(respondWithDeltas(deltas, usage), 1)
    // A response that is sent in spite of a disconnect is one for a key.
    const isSilent = text.includes('silent')
    return (isSilent ? waitFor(this.#entry(this.#departures, name).promise, response) : response)(exchange)
  }

  arrival(name: string): Promise<void> {
    return this.#entry(this.#arrivals, name).promise
  }

  leave(name: string): void {
    this.#entry(this.#departures, name).resolve()
  }

  #entry(map: Map<string, PromiseWithResolvers<void>>, name: string): PromiseWithResolvers<void> {
    const entry = map.get(name) ?? Promise.withResolvers<void>()
    map.set(name, entry)
    return entry
  }
}

/** What a connection has received. */
class Received {
  text = ''
  isClosed = false
  readonly #socket: Socket
  readonly closed: Promise<unknown>

  constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (part: string) => (this.text += part))
    socket.on('error', () => undefined)
    this.closed = new Promise((resolve) => socket.once('close', resolve))
    socket.once('close', () => (this.isClosed = true))
  }

  async until(condition: (text: string) => boolean): Promise<void> {
    while (!condition(this.text) && !this.isClosed)
      await Promise.race([new Promise((resolve) => this.#socket.once('data', resolve)), this.closed])
  }
}

const isComplete = (text: string): boolean => /\[DONE\]|"finish_reason":"stop"|"error"/.test(text)
const countEvents = (text: string): number => text.split('data: ').length - 1

interface AbortContext {
  readonly server: TestServer
  readonly account: Account
  readonly upstream: ObservedUpstream
}

/** What is sent of a request, of its head and body. */
function sentPart({ phase, prng }: CallPlan, head: string, body: string): string {
  if (phase === 'in the head') return head.slice(0, prng.between(1, head.length - 1))
  if (phase === 'in the body') return head + body.slice(0, prng.below(body.length))
  return head + body
}

/** Sends one request and disconnects in its phase. Returns the status that had arrived; 0: none. */
async function callAndDisconnect(
  { server, account, upstream }: AbortContext,
  plan: CallPlan,
): Promise<number> {
  const { name, phase, stream, isChunked, key, resets, prng } = plan
  const isSilent = phase === 'before the first byte'
  const content = phase === 'during a replay' ? 'Large.' : `${name}${isSilent ? ' silent' : ''}`
  const json = JSON.stringify(chatRequest('m', { stream, messages: [{ role: 'user', content }] }))
  const body = isChunked ? `${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n` : json
  const framing = isChunked ? 'transfer-encoding: chunked' : `content-length: ${json.length}`
  const head = requestHead(account, key === null ? framing : `${framing}\r\nidempotency-key: ${key}`)
  const socket = connect({ port: server.relay.port, host: '127.0.0.1', noDelay: true })
  const received = new Received(socket)
  await once(socket, 'connect')
  await new Promise((resolve) => socket.write(sentPart(plan, head, body), resolve))
  if (phase === 'before the first byte')
    await Promise.race([upstream.arrival(name), received.until((text) => text !== '')])
  else if (phase === 'at the first byte' || phase === 'during a replay')
    await received.until((text) => text !== '')
  else if (phase === 'in the stream') {
    const events = prng.between(1, deltas)
    await received.until((text) => countEvents(text) >= events || isComplete(text))
  } else if (phase === 'after the last byte') await received.until(isComplete)
  for (let turns = prng.below(8); turns > 0; turns -= 1) await nextTurn()
  if (resets) socket.resetAndDestroy()
  else socket.destroy()
  await received.closed
  upstream.leave(name)
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(received.text)?.[1] ?? 0)
}

/** Two requests run at once, and a third is rejected: no slot is lost, and none is there twice. */
async function assertTwoSlots({ account, upstream }: AbortContext): Promise<void> {
  const request = chatRequest('m', { messages: [{ role: 'user', content: 'gated' }] })
  await waitUntil(async () => {
    const gate = new Gate()
    upstream.gate = gate
    const responses = [account.post(request), account.post(request)]
    // A response before the gate is opened is a rejection: a slot is still in use.
    const rejection = await Promise.race([gate.twoArrived, ...responses])
    const third = rejection === undefined ? await account.post(request) : undefined
    gate.opened.resolve()
    const statuses = (await Promise.all(responses)).map(({ status }) => status)
    if (third === undefined) return undefined
    assert.deepEqual([third.status, ...statuses], [429, 200, 200])
    return true
  }, 'both slots are free')
}

export interface AbortRaceResult {
  /** How many calls disconnected in each phase, by the status that had arrived. */
  readonly callsByPhase: Readonly<Record<string, number>>
}

/** Runs the calls of a seed and checks what remains of them. */
export async function runAbortRaces(
  server: TestServer,
  { seed, calls }: { readonly seed: number; readonly calls: number },
): Promise<AbortRaceResult> {
  const upstream = new ObservedUpstream()
  const registered: RegisteredUpstream = await server.upstream(upstream.script)
  await server.model('m', { upstreams: [registered] })
  const account = await server.account({ balance: '¥1000' })
  await account.change({ limits: { concurrency: 2 } })
  const context: AbortContext = { server, account, upstream }
  const stored = chatRequest('m', { stream: false, messages: [{ role: 'user', content: 'Large.' }] })
  const first = await account.post(stored, { headers: { 'idempotency-key': storedKey } })
  assert.equal(first.status, 200)
  await first.text()

  const callsByPhase: Record<string, number> = {}
  let next = 0
  const runClient = async (): Promise<void> => {
    while (next < calls) {
      const plan = planOf(seed, next++)
      const outcome = `${plan.phase}: ${await callAndDisconnect(context, plan)}`
      callsByPhase[outcome] = (callsByPhase[outcome] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: clientCount }, runClient))
  await server.assertNoOpenHolds()
  await assertTwoSlots(context)
  await server.assertNoOpenHolds()
  const failed = (await account.requests({ limit: '1000' })).filter((record) => record.http_status >= 500)
  assert.deepEqual(failed, [], 'requests failed because others were aborted')
  assert.deepEqual(
    server.log.filter((line) => line.includes('internal error')),
    [],
  )
  return { callsByPhase }
}
