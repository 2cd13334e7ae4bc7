/**
 * What others have changed in the control plane: the database says at once that there is something (NOTIFY), and what
 * it is is read by the transactions that changed it, so that nothing is missed when a word is lost. Over the same
 * connection nodes say to each other what may be lost.
 */

import type { Client } from 'pg'
import type { Change } from '../change.ts'
import { openClient, runTexts } from './connect.ts'
import { literalOf } from './text.ts'

const pollMs = 500
const retryMs = 300
const statementMs = 5000
const changesChannel = 'sluice_changes'
const wordsChannel = 'sluice_words'
/** The database takes texts of fewer than 8,000 bytes. */
export const wordBytesMost = 7900

export interface ChangeListener {
  /** Resolves when everything works with what has changed. */
  changed(changes: readonly Change[]): Promise<void>
  /** Another node has said something. */
  heard(text: string): void
  /** There is a connection, the first or another: what was said meanwhile was not heard. */
  connected(): void
}

const kinds: readonly string[] = ['account', 'key', 'tier', 'model', 'upstream'] satisfies Change['kind'][]

function isKind(kind: string): kind is Change['kind'] {
  return kinds.includes(kind)
}

export class ChangeFeed {
  readonly #url: string
  readonly #name: string
  readonly #listener: ChangeListener
  /** Every transaction before it has been seen; the empty text: nothing was looked at yet. */
  #horizon = ''
  /** Changes of transactions that ended while others, older ones, were under way: seen, and found again. */
  #seen = new Set<string>()
  #client: Client | null = null
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
    await this.#read(this.#client)
    this.#isLooking = false
    this.#listener.connected()
    this.#later(this.#isDue ? 0 : pollMs)
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
    await client.query(`listen ${changesChannel}; listen ${wordsChannel}`)
    return client
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
        this.#client = await this.#connect()
        this.#listener.connected()
      }
      const words = this.#words.splice(0)
      const saying = words.map((text) => `select pg_notify('${wordsChannel}', ${literalOf(text)})`)
      if (words.length > 0) await this.#client.query(saying.join(';'))
      const changes = await this.#read(this.#client)
      if (changes.length > 0) await this.#listener.changed(changes)
    } catch {
      // The ledger says for itself that the database is away; what has changed meanwhile is found afterwards.
      void this.#client?.end().catch(() => undefined)
      this.#client = null
      this.#words = []
      next = retryMs
    }
    this.#isLooking = false
    this.#later(this.#isDue ? 0 : next)
  }

  async #read(client: Client): Promise<Change[]> {
    const isFirst = this.#horizon === ''
    const since = isFirst ? 'false' : `transaction >= ${literalOf(this.#horizon)}::text::xid8`
    const [horizon = [], rows = []] = await runTexts(
      client,
      `start transaction isolation level repeatable read;
      select pg_snapshot_xmin(pg_current_snapshot())::text as horizon;
      select kind, id, transaction::text as transaction from changes where ${since};
      commit`,
    ).then((results) => results.slice(1))
    this.#horizon = String(horizon[0]?.['horizon'])
    const found = rows.map((row) => ({
      name: JSON.stringify([row['kind'], row['id'], row['transaction']]),
      row,
    }))
    const fresh = found.filter(({ name }) => !this.#seen.has(name))
    this.#seen = new Set(found.map(({ name }) => name))
    return fresh.flatMap(({ row }) => {
      const kind = String(row['kind'])
      return isKind(kind) ? [{ kind, id: String(row['id']) }] : []
    })
  }
}
