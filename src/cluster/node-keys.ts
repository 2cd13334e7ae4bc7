/** The data keys of a node. During a rotation, the node reports which of them all its threads have. */
import type { Config } from '../config.ts'
import type { Changes } from '../db/change.ts'
import { reportNodeKeys } from '../db/data-key-rotation.ts'
import { isRotationUnfinished, readDataKeyRows, openSealer, type OpenedSealer } from '../db/data-keys.ts'
import type { Db } from '../db/db.ts'

export interface NodeKeyring extends OpenedSealer {
  /** After the node has joined and receives changes: a rotation that has begun since waits for it. */
  onJoined(): Promise<void>
  /** After all threads have applied the changes. */
  onApplied(changes: Changes): Promise<void>
}

export async function openNodeKeyring(db: Db, node: string, config: Config): Promise<NodeKeyring> {
  const { sealer, reloadKeys } = await openSealer(db, config)
  const report = (): Promise<void> => reportNodeKeys(db, node, sealer.keys, config)
  return {
    sealer,
    reloadKeys,
    async onJoined() {
      if (!isRotationUnfinished(await readDataKeyRows(db))) return
      sealer.replaceKeys((await reloadKeys()) ?? sealer.keys)
      await report()
    },
    async onApplied(changes) {
      if (changes === 'everything' || changes.some(({ kind }) => kind === 'data_key')) await report()
    },
  }
}
