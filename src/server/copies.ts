/** A worker's own copy of keys, accounts, models and upstreams, followed change by change. */
import { setTimeout as delay } from 'node:timers/promises'
import { loadDelta, type Directory } from '../accounts/directory.ts'
import { loadCatalogDelta, type Catalog } from '../catalog/catalog.ts'
import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { isAway } from '../db/store-error.ts'

const retryMs = 200

export class Copies {
  readonly #db: Db
  readonly directory: Directory
  readonly catalog: Catalog
  /** One after the other, or an older read might overwrite a newer one. */
  #refreshed: Promise<void> = Promise.resolve()

  constructor(db: Db, directory: Directory, catalog: Catalog) {
    this.#db = db
    this.directory = directory
    this.catalog = catalog
  }

  refresh(changes: readonly Change[]): Promise<void> {
    this.#refreshed = this.#refreshed.then(async () => {
      this.directory.apply(await this.#had(() => loadDelta(this.#db, changes)))
      this.catalog.apply(await this.#had(() => loadCatalogDelta(this.#db, changes)))
    })
    return this.#refreshed
  }

  /** Waits for a database that is away: nobody counts this worker as up to date meanwhile. */
  async #had<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
    for (;;) {
      try {
        return await load()
      } catch (error) {
        if (!isAway(error)) throw error
        await delay(retryMs)
      }
    }
  }
}
