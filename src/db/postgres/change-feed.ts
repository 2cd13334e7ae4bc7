/**
 * What others have changed in the control plane: the database says at once that there is something (NOTIFY), and what
 * it is is read by the transactions that changed it, so that nothing is missed when a word is lost. Over the same
 * connection nodes say to each other what may be lost.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Change, Changes } from '../change.ts'
import { openClient, runTexts } from './connection.ts'
import { literalOf } from './sql-text.ts'

const pollMs = 500
const retryMs = 300
/** A connection that says nothing for so long, and a second, is given up for another. */
const statementMs = 1500
/** So soon everything that was changed is known. */
const freshMs = 1000
/** How long one waits for it. */
const patienceMs = 5000
const changesChannel = 'sluice_changes'
/** Of one cluster among several in one database: each has a schema of its own. */
export const wordsChannelText = `select 'sluice_words_' || oid as channel from pg_namespace
  where nspname = current_schema()`
/** The database takes texts of fewer than 8,000 bytes. */
export const wordBytesMost = 7900

export interface ChangeListener {
  /** Resolves when everything works with what has changed. */
  changed(changes: Changes): Promise<void>
  /** Another node has said something. */
  heard(text: string): void
  /** There is a connection, the first or another: what was said meanwhile was not heard. */
  connected(): void
  /** What was asked could not be had. */
  lost(): void
}

const kinds: readonly string[] = ['account', 'key', 'tier', 'model', 'upstream'] satisfies Change['kind'][]

/** How far changes were seen. */
interface Seen {
  /** Every transaction before it. */
  readonly horizon: bigint
  /** Another one begins with each promotion of a standby. */
  readonly timeline: string
  /** Changes of transactions that ended while others, older ones, were under way: they are found again. */
  readonly names: ReadonlySet<string>
}

function isKind(kind: string): kind is Change['kind'] {
  return kinds.includes(kind)
}

const since = (horizon: bigint): string => `transaction >= '${horizon}'::xid8`

export class ChangeFeed {
  readonly #url: string
  readonly #name: string
  readonly #listener: ChangeListener
  /** Null: nothing was looked at yet. */
  #seen: Seen | null = null
  /** When the last look began that has come to its end; by the clock that nobody sets. */
  #knownAt = 0
  #freshening: Promise<boolean> | null = null
  #client: Client | null = null
  #wordsChannel = ''
  /** To be said with the next look. */
  #words: string[] = []
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #isDue = false
  #isOver = false

  constructor(about: { readonly url: string; readonly name: string }, listener: ChangeListener) {
    this.#url = about.url
    this.#name = about.name
    this.#listener = listener
  }

  /** Begins with what is committed from now on. Load everything afterwards: what comes twice is only loaded twice. */
  async start(): Promise<void> {
    this.#isLooking = true
    this.#client = await this.#connect()
    this.#knownAt = performance.now()
    this.#seen = (await this.#read(this.#client)).seen
    this.#isLooking = false
    this.#listener.connected()
    this.#later(this.#isDue ? 0 : pollMs)
  }

  /** Whether everything is known here that was changed a second ago. */
  get isFresh(): boolean {
    return performance.now() - this.#knownAt < freshMs
  }

  /** Resolves when it is: after a standstill, or over another connection; false: the database does not tell. */
  fresh(): Promise<boolean> {
    if (this.isFresh) return Promise.resolve(true)
    this.#freshening ??= this.#freshen().finally(() => (this.#freshening = null))
    return this.#freshening
  }

  async #freshen(): Promise<boolean> {
    void this.#look()
    for (const end = performance.now() + patienceMs; !this.isFresh; await delay(10))
      if (performance.now() > end) return false
    return true
  }

  /** Says something to all other nodes that are connected at this moment. */
  say(text: string): void {
    // Lost with the connection; the next says that there is one.
    if (this.#client === null) return
    this.#words.push(text)
    void this.#look()
  }

  async close(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#client?.end().catch(() => undefined)
  }

  async #connect(): Promise<Client> {
    const client = await openClient({ url: this.#url, name: `${this.#name} changes`, statementMs })
    const own = client as Client & { readonly processID: number | null }
    client.on('notification', ({ channel, payload = '', processId }) => {
      if (channel === changesChannel) void this.#look()
      else if (processId !== own.processID) this.#listener.heard(payload)
    })
    try {
      const [[row] = []] = await runTexts(client, wordsChannelText)
      this.#wordsChannel = String(row?.['channel'])
      await client.query(`listen ${changesChannel}; listen ${this.#wordsChannel}`)
      return client
    } catch (error) {
      void client.end().catch(() => undefined)
      throw error
    }
  }

  #later(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#isOver) this.#timer = setTimeout(() => void this.#look(), ms)
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#isOver) {
      this.#isDue = true
      return
    }
    this.#isLooking = true
    this.#isDue = false
    let next = pollMs
    try {
      if (this.#client === null) {
        const client = await this.#connect()
        if (this.#isOver) return void client.end().catch(() => undefined)
        this.#client = client
        this.#listener.connected()
      }
      const words = this.#words.splice(0)
      const saying = words.map((text) => `select pg_notify('${this.#wordsChannel}', ${literalOf(text)})`)
      if (words.length > 0) await this.#client.query(saying.join(';'))
      const begunAt = performance.now()
      const { changes, seen } = await this.#read(this.#client)
      if (changes === 'everything' || changes.length > 0) await this.#listener.changed(changes)
      // Only now: what nobody could work with is found again.
      this.#seen = seen
      this.#knownAt = begunAt
    } catch {
      // What has changed meanwhile is found afterwards.
      void this.#client?.end().catch(() => undefined)
      this.#client = null
      this.#words = []
      next = retryMs
      if (!this.#isOver) this.#listener.lost()
    }
    this.#isLooking = false
    this.#later(this.#isDue ? 0 : next)
  }

  async #read(client: Client): Promise<{ readonly changes: Changes; readonly seen: Seen }> {
    const before = this.#seen
    const found = await this.#found(client, before === null ? 'false' : since(before.horizon))
    const { horizon, timeline } = found.seen
    // A database that has come back without its last transactions numbers others like them, and has no trace of them.
    const hasLost = before !== null && (timeline !== before.timeline || horizon < before.horizon)
    if (hasLost) return { changes: 'everything', seen: found.seen }
    return { ...found, changes: found.changes.filter(({ name }) => !before?.names.has(name)) }
  }

  async #found(
    client: Client,
    condition: string,
  ): Promise<{ readonly changes: (Change & { readonly name: string })[]; readonly seen: Seen }> {
    const [, [state] = [], rows = []] = await runTexts(
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
    return { changes, seen: { horizon, timeline, names } }
  }
}
