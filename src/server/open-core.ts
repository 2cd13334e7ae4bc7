/** One node by itself, or a node of a cluster: the same core for whoever stands on it. */
import type { Config } from '../config.ts'
import { openClusterCore } from './cluster/core.ts'
import { openEmbeddedCore, type Core, type CoreListener } from './core.ts'

/** Opens what the settings name; the caller holds the lock of the data directory. */
export function openCore(config: Config, listener: CoreListener): Promise<Core> {
  return config.databaseUrl === null
    ? openEmbeddedCore(config, listener)
    : openClusterCore({ ...config, databaseUrl: config.databaseUrl }, listener)
}
