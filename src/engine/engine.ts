/** The parts of a core that are the same over both stores. */
import type { Directory } from '../accounts/directory.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Db } from '../db/db.ts'
import type { RequestRow } from '../db/ledger-commit.ts'
import { UpstreamHealth } from '../relay/upstreams/upstream-health.ts'
import { Authority, type AuthorityDeps } from './authority.ts'
import type { Core } from './core.ts'
import { Credits } from './credits.ts'
import { RejectionOverflow } from './rejection-overflow.ts'
import { SpendNotifications } from './spend-notifications.ts'
import { WorkerLedger } from './worker-ledger.ts'

export interface EngineDeps extends Omit<AuthorityDeps, 'spendNotifications'> {
  readonly db: Db
  /** The platform's currency. */
  readonly currency: string
  readonly directory: Directory
  readonly catalog: Catalog
  /** Adds a row to the next commit; false: too many are waiting. */
  readonly addRequest: (row: RequestRow) => boolean
}

type EngineParts = Pick<
  Core,
  | 'currency'
  | 'directory'
  | 'catalog'
  | 'state'
  | 'authority'
  | 'credits'
  | 'health'
  | 'recordRequest'
  | 'listenToCharges'
  | 'openWorkerLedger'
>

export interface Engine {
  readonly parts: EngineParts
  /** `drain`: resolves when everything that was decided is in the store. */
  close(drain: () => Promise<void>): Promise<void>
}

export function createEngine(deps: EngineDeps): Engine {
  const { db, currency, store, directory, catalog, now } = deps
  const spendNotifications = new SpendNotifications({ state: store.state, directory, db, currency })
  const authority = new Authority({ ...deps, spendNotifications })
  const health = new UpstreamHealth(catalog, Date.now)
  const overflow = new RejectionOverflow(db, deps.addRequest)
  return {
    parts: {
      currency,
      directory,
      catalog,
      state: store.state,
      authority,
      credits: new Credits(store, spendNotifications, now),
      health,
      recordRequest: (row) => overflow.record(row),
      listenToCharges: (listener) => spendNotifications.listen(listener),
      openWorkerLedger: (workerDeps) => new WorkerLedger({ authority, store }, workerDeps),
    },
    async close(drain) {
      health.close()
      await Promise.all([drain(), overflow.close()])
      // Charges that were just written may raise some.
      await spendNotifications.close()
    },
  }
}
