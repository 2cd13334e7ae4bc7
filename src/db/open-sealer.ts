/** Opens the data keys for the main thread. */
import type { Config } from '../config.ts'
import { openDataKeys, reloadDataKeys } from './data-keys.ts'
import type { Db } from './db.ts'
import { createSealer, type DataKeys, type Sealer } from '../lib/encryption.ts'

export interface OpenedSealer {
  readonly sealer: Sealer
  /** The keys after a step of a rotation; undefined if the settings of this process no longer open them. */
  readonly reloadKeys: () => Promise<DataKeys | undefined>
}

export async function openSealer(db: Db, config: Config): Promise<OpenedSealer> {
  const { bytes, isNewestReadOnly } = await openDataKeys(db, config)
  return { sealer: createSealer(bytes, isNewestReadOnly), reloadKeys: () => reloadDataKeys(db, config) }
}
