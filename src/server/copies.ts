/** A thread's own copy of keys, accounts, models and upstreams, followed change by change. */
import { setTimeout as delay } from 'node:timers/promises'
import { loadDelta, loadDirectory, type Directory } from '../accounts/directory.ts'
import { loadCatalog, loadCatalogDelta, type Catalog } from '../catalog/catalog.ts'
import type { Changes } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { isAway } from '../db/store-error.ts'
import type { Sealer } from '../lib/encryption.ts'

const retryMs = 200

export interface Copied {
  readonly db: Db
  readonly sealer: Sealer
  readonly directory: Directory
  readonly catalog: Catalog
}

/** Reads what has changed, and takes it over. */
export async function takeIn({ db, sealer, directory, catalog }: Copied, changes: Changes): Promise<void> {
  if (changes === 'everything') {
    directory.become(await loadDirectory(db))
    catalog.become(await loadCatalog(db, sealer))
    return
  }
  directory.apply(await loadDelta(db, changes))
  catalog.apply(await loadCatalogDelta(db, changes))
}

/** Those of a worker. */
export class Copies {
  readonly #copied: Copied
  /** One after the other, or an older read might overwrite a newer one. */
  #refreshed: Promise<void> = Promise.resolve()

  constructor(copied: Copied) {
    this.#copied = copied
  }

  get directory(): Directory {
    return this.#copied.directory
  }

  get catalog(): Catalog {
    return this.#copied.catalog
  }

  refresh(changes: Changes): Promise<void> {
    this.#refreshed = this.#refreshed.then(() => this.#takeIn(changes))
    return this.#refreshed
  }

  /** Waits for a database that is away: nobody counts this worker as up to date meanwhile. */
  async #takeIn(changes: Changes): Promise<void> {
    for (;;) {
      try {
        return await takeIn(this.#copied, changes)
      } catch (error) {
        if (!isAway(error)) throw error
        await delay(retryMs)
      }
    }
  }
}
