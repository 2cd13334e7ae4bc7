/** A thread's own copy of accounts, keys, models and upstreams, updated change by change. */
import { setTimeout as delay } from 'node:timers/promises'
import { loadDirectoryDelta, loadDirectory, type Directory } from '../accounts/directory.ts'
import { loadCatalog, loadCatalogDelta, type Catalog } from '../catalog/catalog.ts'
import type { Changes } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { isUnavailable } from '../db/store-error.ts'
import type { DataKeys, Sealer } from '../lib/encryption.ts'

const retryMs = 200

export interface ConfigCacheDeps {
  readonly db: Db
  readonly sealer: Sealer
  /** undefined: the settings of this process do not open the data keys. */
  readonly reloadKeys: () => Promise<DataKeys | undefined>
  readonly directory: Directory
  readonly catalog: Catalog
}

/** Reads the changed rows and data keys, and applies them. */
export async function applyChanges(
  { db, sealer, reloadKeys, directory, catalog }: ConfigCacheDeps,
  changes: Changes,
): Promise<void> {
  // First, because the changed rows may have been sealed under a new key.
  if (changes === 'everything' || changes.some(({ kind }) => kind === 'data_key')) {
    const keys = await reloadKeys()
    if (keys !== undefined) sealer.replaceKeys(keys)
  }
  if (changes === 'everything') {
    directory.replaceWith(await loadDirectory(db))
    catalog.replaceWith(await loadCatalog(db, sealer))
    return
  }
  directory.apply(await loadDirectoryDelta(db, changes))
  catalog.apply(await loadCatalogDelta(db, changes))
}

/** The copy of a worker. */
export class ConfigCache {
  readonly #deps: ConfigCacheDeps
  /** Changes are applied one after the other; otherwise an older read could overwrite a newer one. */
  #lastApplied: Promise<void> = Promise.resolve()

  constructor(deps: ConfigCacheDeps) {
    this.#deps = deps
  }

  get directory(): Directory {
    return this.#deps.directory
  }

  get catalog(): Catalog {
    return this.#deps.catalog
  }

  applyChanges(changes: Changes): Promise<void> {
    this.#lastApplied = this.#lastApplied.then(() => this.#applyWithRetry(changes))
    return this.#lastApplied
  }

  /** Retries while the database is unavailable: until then this worker does not count as up to date. */
  async #applyWithRetry(changes: Changes): Promise<void> {
    for (;;) {
      try {
        return await applyChanges(this.#deps, changes)
      } catch (error) {
        if (!isUnavailable(error)) throw error
        await delay(retryMs)
      }
    }
  }
}
