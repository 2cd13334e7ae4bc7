/**
 * The change feed of the control plane. NOTIFY announces changes immediately, and the changes themselves are read by
 * transaction id, so that a lost notification does not lose a change. Nodes broadcast non-critical messages to each other
 * over the same connection.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Change, Changes } from '../change.ts'
import type { Statement } from '../statement.ts'
import { openClient, runScript } from './connection.ts'
import { quoteLiteral } from './sql-text.ts'

const pollMs = 500
const retryMs = 300
/** Without a reply for this long plus a second, the connection is replaced. */
const statementTimeoutMs = 1500
/** The feed is fresh if it knows all changes up to this long ago. */
const freshMs = 1000
/** How long to wait for the feed to become fresh. */
const freshTimeoutMs = 5000
const changesChannel = 'sluice_changes'
/** The broadcast channel of this cluster; several clusters may share a database with one schema each. */
export const broadcastChannelSql = `select 'sluice_words_' || oid as channel from pg_namespace
  where nspname = current_schema()`
/** PostgreSQL limits a NOTIFY payload to less than 8,000 bytes. */
export const maxBroadcastBytes = 7900

export interface ChangeListener {
  /** Resolves when the changes have been applied. */
  onChanges(changes: Changes): Promise<void>
  /** Another node sent a broadcast. */
  onBroadcast(text: string): void
  /** A connection was opened, the first or a later one; broadcasts sent in between were missed. */
  onConnected(): void
  /** The database could not be queried. */
  onDisconnected(): void
}

const kinds: readonly string[] = [
  'account',
  'key',
  'tier',
  'model',
  'upstream',
  'data_key',
  'branding',
] satisfies Change['kind'][]

/** The position in the feed. */
interface FeedPosition {
  /** All transactions before this one were seen. */
  readonly horizon: bigint
  /** The WAL timeline, which changes when a standby is promoted. */
  readonly timeline: string
  /** Seen changes of transactions that ended before older ones; they are found again. */
  readonly seenChanges: ReadonlySet<string>
}

function isKind(kind: string): kind is Change['kind'] {
  return kinds.includes(kind)
}

const sinceSql = (horizon: bigint): string => `transaction >= '${horizon}'::xid8`

/** For a batch: publishes a change that no trigger does (migration 8). */
export function publishStatements({ kind, id }: Change): Statement[] {
  return [
    {
      sql: `insert into changes (kind, id, transaction) values (?, ?, pg_current_xact_id())
        on conflict (kind, id) do update set transaction = excluded.transaction`,
      parameters: [kind, id],
    },
    { sql: `select pg_notify('${changesChannel}', '')`, parameters: [] },
  ]
}

export class ChangeFeed {
  readonly #url: string
  readonly #name: string
  readonly #listener: ChangeListener
  /** Null before the first poll. */
  #position: FeedPosition | null = null
  /** When the last completed poll began, by the monotonic clock. */
  #currentAsOf = 0
  #catchingUp: Promise<boolean> | null = null
  #client: Client | null = null
  #broadcastChannel = ''
  /** Broadcasts to send with the next poll. */
  #outgoing: string[] = []
  #timer: NodeJS.Timeout | undefined
  #isPolling = false
  #isPollRequested = false
  #isClosed = false

  constructor(about: { readonly url: string; readonly name: string }, listener: ChangeListener) {
    this.#url = about.url
    this.#name = about.name
    this.#listener = listener
  }

  /** Starts with changes committed from now on. Load everything afterwards; loading a change twice is harmless. */
  async start(): Promise<void> {
    this.#isPolling = true
    this.#client = await this.#connect()
    this.#currentAsOf = performance.now()
    this.#position = (await this.#readChanges(this.#client)).seen
    this.#isPolling = false
    this.#listener.onConnected()
    this.#schedulePoll(this.#isPollRequested ? 0 : pollMs)
  }

  /** Whether all changes up to a second ago are known. */
  get isFresh(): boolean {
    return performance.now() - this.#currentAsOf < freshMs
  }

  /** Resolves with true when the feed is fresh, after a stall or a reconnect; with false if the database does not respond. */
  waitUntilFresh(): Promise<boolean> {
    if (this.isFresh) return Promise.resolve(true)
    this.#catchingUp ??= this.#catchUp().finally(() => (this.#catchingUp = null))
    return this.#catchingUp
  }

  async #catchUp(): Promise<boolean> {
    void this.#poll()
    for (const end = performance.now() + freshTimeoutMs; !this.isFresh; await delay(10))
      if (performance.now() > end) return false
    return true
  }

  /** Sends a message to all other nodes that are connected now. */
  broadcast(text: string): void {
    // Lost without a connection; `onConnected` reports the gap.
    if (this.#client === null) return
    this.#outgoing.push(text)
    void this.#poll()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#client?.end().catch(() => undefined)
  }

  async #connect(): Promise<Client> {
    const client = await openClient({
      url: this.#url,
      name: `${this.#name} changes`,
      statementMs: statementTimeoutMs,
    })
    const withProcessId = client as Client & { readonly processID: number | null }
    client.on('notification', ({ channel, payload = '', processId }) => {
      if (channel === changesChannel) void this.#poll()
      else if (processId !== withProcessId.processID) this.#listener.onBroadcast(payload)
    })
    try {
      const [[row] = []] = await runScript(client, broadcastChannelSql)
      this.#broadcastChannel = String(row?.['channel'])
      await client.query(`listen ${changesChannel}; listen ${this.#broadcastChannel}`)
      return client
    } catch (error) {
      void client.end().catch(() => undefined)
      throw error
    }
  }

  #schedulePoll(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#poll(), ms)
  }

  async #poll(): Promise<void> {
    if (this.#isPolling || this.#isClosed) {
      this.#isPollRequested = true
      return
    }
    this.#isPolling = true
    this.#isPollRequested = false
    let next = pollMs
    try {
      if (this.#client === null) {
        const client = await this.#connect()
        if (this.#isClosed) return void client.end().catch(() => undefined)
        this.#client = client
        this.#listener.onConnected()
      }
      const messages = this.#outgoing.splice(0)
      const notifications = messages.map(
        (text) => `select pg_notify('${this.#broadcastChannel}', ${quoteLiteral(text)})`,
      )
      if (messages.length > 0) await this.#client.query(notifications.join(';'))
      const startedAt = performance.now()
      const { changes, seen } = await this.#readChanges(this.#client)
      if (changes === 'everything' || changes.length > 0) await this.#listener.onChanges(changes)
      // Only now, so that changes that could not be applied are found again.
      this.#position = seen
      this.#currentAsOf = startedAt
    } catch {
      // Changes made in the meantime are found after the reconnect.
      void this.#client?.end().catch(() => undefined)
      this.#client = null
      this.#outgoing = []
      next = retryMs
      if (!this.#isClosed) this.#listener.onDisconnected()
    }
    this.#isPolling = false
    this.#schedulePoll(this.#isPollRequested ? 0 : next)
  }

  async #readChanges(client: Client): Promise<{ readonly changes: Changes; readonly seen: FeedPosition }> {
    const before = this.#position
    const found = await this.#queryChanges(client, before === null ? 'false' : sinceSql(before.horizon))
    const { horizon, timeline } = found.seen
    // A database that lost its last transactions reuses their ids and has no trace of them.
    const hasLost = before !== null && (timeline !== before.timeline || horizon < before.horizon)
    if (hasLost) return { changes: 'everything', seen: found.seen }
    return { ...found, changes: found.changes.filter(({ name }) => !before?.seenChanges.has(name)) }
  }

  async #queryChanges(
    client: Client,
    condition: string,
  ): Promise<{ readonly changes: (Change & { readonly name: string })[]; readonly seen: FeedPosition }> {
    const [, [state] = [], rows = []] = await runScript(
      client,
      `start transaction isolation level repeatable read;
      select pg_snapshot_xmin(pg_current_snapshot())::text as horizon,
        substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline;
      select kind, id, transaction::text as transaction from changes where ${condition};
      commit`,
    )
    const changes = rows.flatMap(({ kind, id, transaction }) => {
      const name = JSON.stringify([kind, id, transaction])
      const kindName = String(kind)
      return isKind(kindName) ? [{ kind: kindName, id: String(id), name }] : []
    })
    const names = new Set(changes.map(({ name }) => name))
    const [horizon, timeline] = [BigInt(String(state?.['horizon'])), String(state?.['timeline'])]
    return { changes, seen: { horizon, timeline, seenChanges: names } }
  }
}
