/**
 * A whole relay for one story: opened on a port and a data directory of its own, with people, upstreams and models,
 * and closed after the test. Closing checks that the ledger adds up; a story's own last line is
 * `await house.nothingHeld()`.
 */

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

import { Account } from './account.ts'
import type { RequestRecord } from './account.ts'
import type { Script } from '../upstream/exchange.ts'
import { startRelay } from './relay-process.ts'
import type { Exit, RelayProcess } from './relay-process.ts'
import { openUpstream } from '../upstream/scripted-upstream.ts'
import type { ScriptedUpstream } from '../upstream/scripted-upstream.ts'

const settleWithinMs = 60_000

export interface Verification {
  ok: boolean
  entries: number
  drift: string
  open_holds: number
  overrun: string
}

/** An upstream that the relay knows. */
export type KnownUpstream = ScriptedUpstream & { id: string; name: string }

export interface ModelSettings {
  /** [input, output] per 1,000 tokens, or the contract's object; default ['0.002', '0.002']. */
  prices?: [string, string] | Record<string, string>
  /** Asked in this order. */
  upstreams: { name: string }[]
  /** Any further field of the contract, e.g. `max_output_tokens`. */
  [field: string]: unknown
}

export interface AccountSettings {
  balance?: string
  /** Fields of its first key. */
  key?: object
  /** Any further field of the contract, e.g. `timezone`; the tier is "enterprise" unless given. */
  [field: string]: unknown
}

export interface HouseSettings {
  env?: Record<string, string>
}

/** Opens a relay for one test, which closes it at its end, also when it fails. */
export async function openHouse(t: TestContext, settings: HouseSettings = {}): Promise<House> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-story-'))
  const house = new House(await startRelay({ dataDir, env: settings.env }), settings)
  t.after(async () => {
    if (t.error !== null) for (const line of house.log.slice(-40)) t.diagnostic(line)
    await house.close()
  })
  return house
}

/**
 * Opens one relay for all stories of a file, which ends it after the last: `const house = await shareHouse()`. After
 * each story nothing may be held, and where one failed the relay's last words are told.
 */
export async function shareHouse(settings: HouseSettings = {}): Promise<House> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-story-'))
  const house = new House(await startRelay({ dataDir, env: settings.env }), settings)
  afterEach(() => house.nothingHeld())
  after(() => house.close())
  return house
}

export class House {
  relay: RelayProcess
  /** The upstreams that this house opened itself. */
  private readonly opened: ScriptedUpstream[] = []
  private readonly accounts: Account[] = []
  private readonly settings: HouseSettings
  private readonly earlierLines: string[] = []
  private named = 0

  constructor(relay: RelayProcess, settings: HouseSettings) {
    this.relay = relay
    this.settings = settings
  }

  get url(): string {
    return this.relay.url
  }

  get dataDir(): string {
    return this.relay.dataDir
  }

  /** Everything the relay wrote to its output, over all its starts. */
  get log(): string[] {
    return [...this.earlierLines, ...this.relay.lines]
  }

  admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.relay.admin<Answer>(method, path, body)
  }

  /** Makes an upstream known to the relay: a script gets a server of its own, a server or an address is taken as it is. */
  async upstream(script: Script | ScriptedUpstream, fields: object = {}): Promise<KnownUpstream> {
    const server = typeof script === 'function' ? await openUpstream(script) : script
    this.opened.push(server)
    return Object.assign(server, await this.upstreamAt(server.url, fields))
  }

  /** Makes an address known to the relay as an upstream. */
  async upstreamAt(baseUrl: string, fields: object = {}): Promise<{ id: string; name: string }> {
    const name = `upstream-${++this.named}`
    const about = {
      name,
      provider: 'openai-compatible',
      base_url: baseUrl,
      credential: 'sk-upstream',
      ...fields,
    }
    const { id } = await this.admin<{ id: string }>('POST', '/upstreams', about)
    return { id, name: about.name }
  }

  /** Offers a model, served by the upstreams under the same name. */
  async model(id: string, settings: ModelSettings): Promise<void> {
    const { prices = ['0.002', '0.002'], upstreams, ...fields } = settings
    await this.admin('POST', '/models', {
      id,
      context_tokens: 131_072,
      prices: Array.isArray(prices) ? { input: prices[0], output: prices[1] } : prices,
      routes: upstreams.map(({ name }, index) => ({ upstream: name, model: id, priority: index + 1 })),
      ...fields,
    })
  }

  /** An account with a key and, as far as given, a balance in yuan (`'1'` or `'¥1'`). */
  async account(settings: AccountSettings = {}): Promise<Account> {
    const { balance, key, ...fields } = settings
    const email = `person-${++this.named}@example.com`
    const { id } = await this.admin<{ id: string }>('POST', '/accounts', {
      email,
      tier: 'enterprise',
      ...fields,
    })
    const account = new Account(this, id)
    if (balance !== undefined) await account.credit(balance)
    await account.newKey(key)
    this.accounts.push(account)
    return account
  }

  /** Request records, newest first as the contract lists them. */
  async requests(filter: Record<string, string> = {}): Promise<RequestRecord[]> {
    const query = new URLSearchParams(filter).toString()
    return (await this.admin<{ data: RequestRecord[] }>('GET', `/requests?${query}`)).data
  }

  verify(): Promise<Verification> {
    return this.admin('GET', '/ledger/verify')
  }

  /** Every hold has ended, each account and the ledger say so, and the ledger adds up. */
  async nothingHeld(): Promise<void> {
    let state = await this.verify()
    for (const start = performance.now(); state.open_holds > 0; state = await this.verify()) {
      assert.ok(performance.now() - start < settleWithinMs, `${state.open_holds} holds are still open`)
      await delay(20)
    }
    assert.equal(state.ok, true, `the ledger does not add up: ${JSON.stringify(state)}`)
    for (const account of this.accounts)
      assert.equal(Number(await account.held()), 0, `${account.id} holds money`)
  }

  stop(): Promise<Exit> {
    return this.relay.stop()
  }

  kill(): Promise<Exit> {
    return this.relay.kill()
  }

  /** Starts again on the same data directory and port, after `stop` or `kill`. */
  async restart(env: Record<string, string> = {}): Promise<void> {
    if (this.relay.isRunning) await this.stop()
    this.earlierLines.push(...this.relay.lines)
    const { dataDir, port } = this.relay
    this.relay = await startRelay({ dataDir, port, env: { ...this.settings.env, ...env } })
  }

  /** Checks the ledger, stops the relay and its upstreams, and removes the data. */
  async close(): Promise<void> {
    try {
      if (this.relay.isRunning) assert.equal((await this.verify()).ok, true, 'the ledger does not add up')
    } finally {
      const closed = await Promise.allSettled(this.opened.map((upstream) => upstream.close()))
      await this.stop()
      await rm(this.dataDir, { recursive: true, force: true })
      const mistakes = closed.flatMap((result) =>
        result.status === 'rejected' ? [result.reason as unknown] : [],
      )
      assert.deepEqual(mistakes, [], 'a script of an upstream failed')
    }
  }
}
