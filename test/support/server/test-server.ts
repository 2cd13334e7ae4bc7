/**
 * A complete relay for end-to-end tests, with its own port and data directory, and helpers that create accounts,
 * upstreams and models. Closing it verifies the ledger; a test ends with `await server.assertNoOpenHolds()`.
 */

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, type TestContext } from 'node:test'

import { Account, chatRequest } from './account.ts'
import type { RequestRecord } from './account.ts'
import type { Script } from '../upstream/exchange.ts'
import { startRelay } from './relay-process.ts'
import type { Exit, RelayProcess } from './relay-process.ts'
import { respondWith } from '../upstream/scripted-responses.ts'
import { startScriptedUpstream } from '../upstream/scripted-upstream.ts'
import type { ScriptedUpstream } from '../upstream/scripted-upstream.ts'
import { waitUntil } from '../wait.ts'

const settleTimeoutMs = 60_000

export interface Verification {
  ok: boolean
  entries: number
  drift: string
  open_holds: number
  overrun: string
}

/** An upstream that is registered with the relay. */
export type RegisteredUpstream = ScriptedUpstream & { id: string; name: string }

export interface ModelSettings {
  /** [input, output] per 1,000 tokens, or the admin API's object; default ['0.002', '0.002']. */
  prices?: [string, string] | Record<string, unknown>
  /** In order of priority. */
  upstreams: { name: string }[]
  /** Any other field of the admin API, e.g. `max_output_tokens`. */
  [field: string]: unknown
}

export interface AccountSettings {
  balance?: string
  /** Fields of its first API key. */
  key?: object
  /** Any other field of the admin API, e.g. `timezone`; default tier: "enterprise". */
  [field: string]: unknown
}

export interface TestServerSettings {
  env?: Record<string, string>
}

/** Starts a relay for one test and closes it afterwards, even if the test fails. */
export async function startTestServer(
  t: TestContext,
  settings: TestServerSettings = {},
): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  const server = new TestServer(await startRelay({ dataDir, env: settings.env }), settings)
  t.after(async () => {
    if (t.error !== null) for (const line of server.log.slice(-40)) t.diagnostic(line)
    await server.close()
  })
  return server
}

/**
 * Starts one relay for all tests of a file and closes it after the last one. Each test must leave no open holds; the
 * ledger is verified at the end, because that costs as much as many requests.
 */
export async function sharedTestServer(settings: TestServerSettings = {}): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'sluice-test-'))
  const server = new TestServer(await startRelay({ dataDir, env: settings.env }), settings)
  afterEach(() => server.assertNothingHeld())
  after(async () => {
    try {
      if (server.relay.isRunning) await server.assertNoOpenHolds()
    } finally {
      await server.close()
    }
  })
  return server
}

export class TestServer {
  relay: RelayProcess
  /** The scripted upstreams that it started. */
  private readonly openedUpstreams: ScriptedUpstream[] = []
  private readonly accounts: Account[] = []
  /** The accounts created since `assertNothingHeld` last checked. */
  private uncheckedAccounts: Account[] = []
  private readonly settings: TestServerSettings
  private readonly earlierLines: string[] = []
  private nameCount = 0

  constructor(relay: RelayProcess, settings: TestServerSettings) {
    this.relay = relay
    this.settings = settings
  }

  get url(): string {
    return this.relay.url
  }

  get dataDir(): string {
    return this.relay.dataDir
  }

  /** The relay's output, over all its starts. */
  get log(): string[] {
    return [...this.earlierLines, ...this.relay.lines]
  }

  admin<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.relay.admin<Answer>(method, path, body)
  }

  /** Registers an upstream with the relay; a script gets its own server. */
  async upstream(script: Script | ScriptedUpstream, fields: object = {}): Promise<RegisteredUpstream> {
    const upstream = typeof script === 'function' ? await startScriptedUpstream(script) : script
    this.openedUpstreams.push(upstream)
    return Object.assign(upstream, await this.upstreamAt(upstream.url, fields))
  }

  /** Registers a base URL as an upstream. */
  async upstreamAt(baseUrl: string, fields: object = {}): Promise<{ id: string; name: string }> {
    const name = `upstream-${++this.nameCount}`
    const settings = {
      name,
      provider: 'openai-compatible',
      base_url: baseUrl,
      credential: 'sk-upstream',
      ...fields,
    }
    const { id } = await this.admin<{ id: string }>('POST', '/upstreams', settings)
    return { id, name: settings.name }
  }

  /** Adds a model that the upstreams serve under the same name. */
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

  /** Lets an upstream end a response at the maximum that was asked for: from then on, small maximums hold little. */
  async showObedience(model: string, upstream: ScriptedUpstream): Promise<void> {
    const account = await this.account({ balance: '1' })
    upstream.next(respondWith('Hi', { input: 1, output: 16 }, { finish: 'length' }))
    const response = await account.post(chatRequest(model, { max_tokens: 16 }))
    assert.equal(response.status, 200, await response.text())
    // This node knows it at once; other nodes hear of it when it is stored.
    await waitUntil(async () => {
      const { routes } = await this.admin<{ routes: { maximum: string }[] }>('GET', `/models/${model}`)
      return routes.some(({ maximum }) => maximum === 'obeyed')
    }, 'the route to be seen to obey')
  }

  /** Creates an account with a key and, if given, a balance in yuan (`'1'` or `'¥1'`). */
  async account(settings: AccountSettings = {}): Promise<Account> {
    const { balance, key, ...fields } = settings
    const email = `person-${++this.nameCount}@example.com`
    const { id } = await this.admin<{ id: string }>('POST', '/accounts', {
      email,
      tier: 'enterprise',
      ...fields,
    })
    const account = new Account(this, id)
    if (balance !== undefined) await account.credit(balance)
    await account.newKey(key)
    this.accounts.push(account)
    this.uncheckedAccounts.push(account)
    return account
  }

  /** Request records, newest first. */
  async requests(filter: Record<string, string> = {}): Promise<RequestRecord[]> {
    const query = new URLSearchParams(filter).toString()
    return (await this.admin<{ data: RequestRecord[] }>('GET', `/requests?${query}`)).data
  }

  verify(): Promise<Verification> {
    return this.admin('GET', '/ledger/verify')
  }

  /** Waits until no hold is open, then checks that the accounts and the ledger agree and that the ledger adds up. */
  async assertNoOpenHolds(): Promise<void> {
    const state = await waitUntil(
      async () => {
        const found = await this.verify()
        return found.open_holds === 0 && found
      },
      'all holds to end',
      settleTimeoutMs,
    )
    assert.equal(state.ok, true, `the ledger does not add up: ${JSON.stringify(state)}`)
    for (const account of this.accounts)
      assert.equal(Number(await account.held()), 0, `${account.id} holds money`)
  }

  /** Waits until the accounts created since the last call hold no money. */
  async assertNothingHeld(): Promise<void> {
    const accounts = this.uncheckedAccounts
    this.uncheckedAccounts = []
    if (!this.relay.isRunning) return
    await Promise.all(
      accounts.map((account) =>
        waitUntil(
          async () => Number(await account.held()) === 0,
          `the holds of ${account.id}`,
          settleTimeoutMs,
        ),
      ),
    )
  }

  stop(): Promise<Exit> {
    return this.relay.stop()
  }

  kill(): Promise<Exit> {
    return this.relay.kill()
  }

  /** Restarts on the same data directory and port; stops the relay first if it is running. */
  async restart(env: Record<string, string> = {}): Promise<void> {
    if (this.relay.isRunning) await this.stop()
    this.earlierLines.push(...this.relay.lines)
    const { dataDir, port } = this.relay
    this.relay = await startRelay({ dataDir, port, env: { ...this.settings.env, ...env } })
  }

  /** Verifies the ledger, stops the relay and its upstreams, and removes the data. */
  async close(): Promise<void> {
    try {
      if (this.relay.isRunning) assert.equal((await this.verify()).ok, true, 'the ledger does not add up')
    } finally {
      const closed = await Promise.allSettled(this.openedUpstreams.map((upstream) => upstream.close()))
      await this.stop()
      await rm(this.dataDir, { recursive: true, force: true })
      const errors = closed.flatMap((result) =>
        result.status === 'rejected' ? [result.reason as unknown] : [],
      )
      assert.deepEqual(errors, [], 'a script of an upstream failed')
    }
  }
}
