/** When keys were last used: gathered in memory and written down now and then, for nobody waits for it. */
import { noteKeyUse } from '../../accounts/keys.ts'
import type { Db } from '../../db/db.ts'
import type { Log } from '../../lib/log.ts'

const writeEveryMs = 5000

export class KeyUse {
  readonly #db: Db
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #uses = new Map<string, number>()

  constructor(db: Db, log: Log) {
    this.#db = db
    this.#log = log
    this.#timer = setInterval(() => void this.#write(), writeEveryMs)
  }

  note(keyId: string): void {
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
      await noteKeyUse(this.#db, uses)
    } catch (error) {
      this.#log.warn({ err: error }, 'when keys were last used could not be written')
    }
  }
}
