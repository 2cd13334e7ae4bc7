/** Opens the core of a single node, or of a node of a cluster. */
import type { Config } from '../config.ts'
import type { Core, CoreListener } from '../engine/core.ts'
import { openEmbeddedCore } from '../engine/sqlite/embedded-core.ts'

/** The caller must have locked the data directory. */
export async function openCore(config: Config, listener: CoreListener): Promise<Core> {
  const { databaseUrl } = config
  if (databaseUrl === null) return openEmbeddedCore(config, listener)
  const { openClusterCore } = await import('../cluster/cluster-core.ts')
  return openClusterCore({ ...config, databaseUrl }, listener)
}
