/** When keys were last used: collected in memory, and written every few seconds. */
import { recordKeyUse } from '../accounts/keys.ts'
import type { Db } from '../db/db.ts'
import type { Log } from '../lib/log.ts'

const writeEveryMs = 5000

export class KeyUsage {
  readonly #db: Db
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #uses = new Map<string, number>()

  constructor(db: Db, log: Log) {
    this.#db = db
    this.#log = log
    this.#timer = setInterval(() => void this.#write(), writeEveryMs)
  }

  record(keyId: string): void {
    this.#uses.set(keyId, Date.now())
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#write()
  }

  async #write(): Promise<void> {
    const uses = this.#uses
    this.#uses = new Map()
    try {
      await recordKeyUse(this.#db, uses)
    } catch (error) {
      this.#log.warn({ err: error }, 'recording key usage failed')
    }
  }
}
