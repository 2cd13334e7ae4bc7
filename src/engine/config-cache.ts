/**
 * A thread's own copy of accounts, keys, models and upstreams. The main thread reads changed rows once and broadcasts
 * them to the workers.
 */
import { setTimeout as pause } from 'node:timers/promises'
import {
  loadDirectoryDelta,
  loadDirectory,
  type Directory,
  type DirectoryDelta,
} from '../accounts/directory.ts'
import type { Catalog, CatalogDelta } from '../catalog/catalog.ts'
import { loadCatalog, loadCatalogDelta } from '../catalog/load-catalog.ts'
import type { Changes } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import { isUnavailable } from '../db/store-error.ts'
import type { DataKeys, Sealer } from '../lib/encryption.ts'

const retryMs = 200

/** Changes with what they changed, for all threads of a node. */
export interface ConfigDelta {
  /** After a step of a key rotation. */
  readonly dataKeys: DataKeys | undefined
  /** `everything`: each thread reads all rows itself. */
  readonly rows: (DirectoryDelta & CatalogDelta) | 'everything'
}

export interface Publishing {
  /** undefined: the settings of this process do not open the data keys. */
  readonly reloadKeys: () => Promise<DataKeys | undefined>
  /** Resolves when every worker has applied the delta. */
  readonly broadcast: (delta: ConfigDelta) => Promise<void>
}

export class ConfigCache {
  readonly directory: Directory
  readonly catalog: Catalog
  readonly #db: Db
  readonly #sealer: Sealer
  /** Changes are read and applied one after the other; otherwise an older row could overwrite a newer one. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(access: { readonly db: Db; readonly sealer: Sealer }, directory: Directory, catalog: Catalog) {
    this.#db = access.db
    this.#sealer = access.sealer
    this.directory = directory
    this.catalog = catalog
  }

  /** On the main thread: reads the changed rows and data keys, applies and broadcasts them. */
  async publish(changes: Changes, { reloadKeys, broadcast }: Publishing): Promise<void> {
    const { isBroadcast } = await this.#inOrder(async () => {
      const isRotated = changes === 'everything' || changes.some(({ kind }) => kind === 'data_key')
      // First, because the changed rows may have been sealed under a new key.
      const dataKeys = isRotated ? await reloadKeys() : undefined
      const rows = changes === 'everything' ? changes : await this.#read(changes)
      const delta = { dataKeys, rows }
      await this.#apply(delta)
      // In an object, so that the next changes do not wait for the workers.
      return { isBroadcast: broadcast(delta) }
    })
    await isBroadcast
  }

  /** On a worker: retries while the database is unavailable; until then the worker does not count as up to date. */
  apply(delta: ConfigDelta): Promise<void> {
    return this.#inOrder(async () => {
      for (;;) {
        try {
          return await this.#apply(delta)
        } catch (error) {
          if (!isUnavailable(error)) throw error
          await pause(retryMs)
        }
      }
    })
  }

  #inOrder<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(step)
    this.#last = result.catch(() => undefined)
    return result
  }

  async #read(changes: Exclude<Changes, 'everything'>): Promise<DirectoryDelta & CatalogDelta> {
    return {
      ...(await loadDirectoryDelta(this.#db, changes)),
      ...(await loadCatalogDelta(this.#db, changes)),
    }
  }

  async #apply({ dataKeys, rows }: ConfigDelta): Promise<void> {
    if (dataKeys !== undefined) this.#sealer.replaceKeys(dataKeys)
    if (rows === 'everything') {
      this.directory.replaceWith(await loadDirectory(this.#db))
      this.catalog.replaceWith(await loadCatalog(this.#db, this.#sealer))
      return
    }
    this.directory.apply(rows)
    this.catalog.apply(rows)
  }
}

export async function openConfigCache(db: Db, sealer: Sealer): Promise<ConfigCache> {
  const [directory, catalog] = await Promise.all([loadDirectory(db), loadCatalog(db, sealer)])
  return new ConfigCache({ db, sealer }, directory, catalog)
}
