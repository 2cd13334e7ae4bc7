/** One node by itself, or a node of a cluster: the same core for whoever stands on it. */
import type { Config } from '../../config.ts'
import { openEmbeddedCore, type Core, type CoreListener } from '../core.ts'

/** Opens what the settings name; the caller holds the lock of the data directory. */
export async function openCore(config: Config, listener: CoreListener): Promise<Core> {
  const { databaseUrl } = config
  if (databaseUrl === null) return openEmbeddedCore(config, listener)
  const { openClusterCore } = await import('../cluster/cluster-core.ts')
  return openClusterCore({ ...config, databaseUrl }, listener)
}
