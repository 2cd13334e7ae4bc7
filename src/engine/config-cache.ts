/**
 * A thread's own copy of accounts, keys, models, upstreams and the branding. The main thread reads changed rows once and broadcasts
 * them to the workers.
 */
import { setTimeout as pause } from 'node:timers/promises'
import {
  loadDirectoryDelta,
  loadDirectory,
  type Directory,
  type DirectoryDelta,
} from '../accounts/directory.ts'
import { CurrentBranding, loadBrandingRow } from '../branding/branding.ts'
import type { Catalog, CatalogDelta } from '../catalog/catalog.ts'
import { loadCatalog, loadCatalogDelta } from '../catalog/load-catalog.ts'
import type { Change, Changes } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import type { BrandingTable } from '../db/schema/schema.ts'
import { isUnavailable } from '../db/store-error.ts'
import type { DataKeys, Sealer } from '../lib/encryption.ts'

const retryMs = 200

interface RowsDelta extends DirectoryDelta, CatalogDelta {
  /** undefined: unchanged; null: nothing is set. */
  readonly branding: BrandingTable | null | undefined
}

/** Changes with what they changed, for all threads of a node. */
export interface ConfigDelta {
  /** After a step of a key rotation. */
  readonly dataKeys: DataKeys | undefined
  /** `everything`: each thread reads all rows itself. */
  readonly rows: RowsDelta | 'everything'
}

export interface Publishing {
  /** undefined: the settings of this process do not open the data keys. */
  readonly reloadKeys: () => Promise<DataKeys | undefined>
  /** Resolves when every worker has applied the delta. */
  readonly broadcast: (delta: ConfigDelta) => Promise<void>
}

export type ConfigCopies = Pick<ConfigCache, 'directory' | 'catalog' | 'branding'>

export class ConfigCache {
  readonly directory: Directory
  readonly catalog: Catalog
  readonly branding: CurrentBranding
  readonly #db: Db
  readonly #sealer: Sealer
  /** Changes are read and applied one after the other; otherwise an older row could overwrite a newer one. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(access: { readonly db: Db; readonly sealer: Sealer }, copies: ConfigCopies) {
    this.#db = access.db
    this.#sealer = access.sealer
    this.directory = copies.directory
    this.catalog = copies.catalog
    this.branding = copies.branding
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

  async #read(changes: readonly Change[]): Promise<RowsDelta> {
    const isRebranded = changes.some(({ kind }) => kind === 'branding')
    return {
      branding: isRebranded ? await loadBrandingRow(this.#db) : undefined,
      ...(await loadDirectoryDelta(this.#db, changes)),
      ...(await loadCatalogDelta(this.#db, changes)),
    }
  }

  async #apply({ dataKeys, rows }: ConfigDelta): Promise<void> {
    if (dataKeys !== undefined) this.#sealer.replaceKeys(dataKeys)
    if (rows === 'everything') {
      this.directory.replaceWith(await loadDirectory(this.#db))
      this.catalog.replaceWith(await loadCatalog(this.#db, this.#sealer))
      this.branding.apply(await loadBrandingRow(this.#db))
      return
    }
    this.directory.apply(rows)
    this.catalog.apply(rows)
    if (rows.branding !== undefined) this.branding.apply(rows.branding)
  }
}

export async function openConfigCache(db: Db, sealer: Sealer): Promise<ConfigCache> {
  const [directory, catalog, branding] = await Promise.all([
    loadDirectory(db),
    loadCatalog(db, sealer),
    loadBrandingRow(db),
  ])
  return new ConfigCache({ db, sealer }, { directory, catalog, branding: new CurrentBranding(branding) })
}
