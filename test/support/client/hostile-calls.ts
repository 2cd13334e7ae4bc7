/** Calls that receive hostile responses, one after another, each followed by a call that must receive its own. */
import assert from 'node:assert/strict'

import { Prng } from '../../../sim/prng.ts'
import type { SeedRange } from '../runner/seeds.ts'
import { readPayloads, chatRequest, type Account } from '../server/account.ts'
import type { TestServer } from '../server/test-server.ts'
import {
  messagesRequest,
  parseMessagesEvents,
  postMessages,
  readMessagesError,
} from '../upstream/anthropic-messages.ts'
import { damagedMode } from '../upstream/damaged-responses.ts'
import {
  hostileModel,
  HostileUpstream,
  type HostileMode,
  type Outcome,
} from '../upstream/hostile-upstream.ts'
import { finalError, readError } from './responses.ts'
import { callAsVictim } from './victim.ts'

/** Of upstreams that fall silent; the others have as much time as a slow machine needs. */
const silentMs = { first_token_ms: 400, idle_ms: 400, answer_ms: 400 }
/** More than sockets buffer, so that the response arrives before the end of the request. */
const fillerBytes = 16 * 1024 * 1024

export const callKinds = ['response', 'stream', 'stream in Anthropic’s format'] as const
export type CallKind = (typeof callKinds)[number]

export class HostileCalls {
  readonly #server: TestServer
  readonly #upstream: HostileUpstream
  readonly #attacker: Account
  readonly #victim: Account
  #victims = 0

  private constructor(server: TestServer, upstream: HostileUpstream, attacker: Account, victim: Account) {
    this.#server = server
    this.#upstream = upstream
    this.#attacker = attacker
    this.#victim = victim
  }

  /** Registers a hostile upstream twice, with long and with short timeouts, and creates the accounts. */
  static async start(server: TestServer): Promise<HostileCalls> {
    const upstream = new HostileUpstream()
    await upstream.listen()
    const patient = await server.upstreamAt(upstream.url)
    const hasty = await server.upstreamAt(upstream.url, { timeouts: silentMs })
    await server.model('victim', { upstreams: [patient] })
    const routes = (name: string): object => ({
      routes: [{ upstream: name, model: hostileModel, priority: 1 }],
    })
    await server.model('patient', { upstreams: [], ...routes(patient.name) })
    await server.model('hasty', { upstreams: [], ...routes(hasty.name) })
    const attacker = await server.account({ balance: '¥1000' })
    // A slot that is not returned makes the next request fail.
    await attacker.change({ limits: { concurrency: 1 } })
    return new HostileCalls(server, upstream, attacker, await server.account({ balance: '¥1000' }))
  }

  close(): void {
    this.#upstream.close()
  }

  /** Calls the upstream in all ways while it is in this mode. */
  async run(mode: HostileMode): Promise<void> {
    for (const kind of callKinds) {
      const expected = mode.expected[kind === 'response' ? 0 : 1]
      assert.equal(await this.call(mode, kind), expected, `${kind} after ${mode.name}`)
    }
  }

  /** One call for each seed, which chooses the response and how the caller asks for it. */
  async runDamaged({ from, count }: SeedRange): Promise<void> {
    for (let seed = from; seed < from + count; seed += 1) {
      const kind = new Prng(-seed).pick(callKinds)
      try {
        await this.call(damagedMode(seed), kind)
      } catch (cause) {
        throw new Error(`seed ${seed}, ${kind}`, { cause })
      }
    }
  }

  /** One call in this mode; then a victim's. Checks that a response of nothing costs nothing. */
  async call(mode: HostileMode, kind: CallKind): Promise<Outcome> {
    const upstream = this.#upstream
    const before = { responses: upstream.responses, balance: await this.#attacker.balance() }
    upstream.mode = mode
    const model = mode.isSilent === true ? 'hasty' : 'patient'
    const filler = mode.isEarly === true ? { filler: 'x'.repeat(fillerBytes) } : {}
    const stream = kind !== 'response'
    const outcome =
      kind === 'stream in Anthropic’s format'
        ? await messagesOutcome(await postMessages(this.#attacker, messagesRequest(model, { stream })))
        : await chatOutcome(await this.#attacker.post(chatRequest(model, { stream, ...filler })), stream)
    assert.ok(upstream.responses > before.responses, 'the upstream was not called')
    if (outcome === 'unavailable') assert.equal(await this.#attacker.balance(), before.balance)
    await upstream.finish()
    await callAsVictim(this.#victim, 'victim', this.#victims++, this.#server.relay.port)
    return outcome
  }
}

async function chatOutcome(response: Response, isStream: boolean): Promise<Outcome> {
  if (response.status !== 200) {
    const { code } = await readError(response)
    assert.deepEqual([response.status, code], [503, 'upstream_unavailable'])
    return 'unavailable'
  }
  if (!isStream) {
    const { choices } = (await response.json()) as { choices: unknown }
    assert.ok(Array.isArray(choices))
    return 'complete'
  }
  const payloads = await readPayloads(response)
  if (payloads.at(-1) === '[DONE]') return 'complete'
  assert.equal(finalError(payloads).code, 'upstream_unavailable')
  return 'truncated'
}

async function messagesOutcome(response: Response): Promise<Outcome> {
  if (response.status !== 200) {
    const { type } = await readMessagesError(response)
    assert.deepEqual([response.status, type], [503, 'overloaded_error'])
    return 'unavailable'
  }
  const last = parseMessagesEvents(await response.text()).at(-1)
  if (last?.type === 'message_stop') return 'complete'
  assert.equal(last?.type, 'error')
  return 'truncated'
}
