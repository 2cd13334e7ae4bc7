/** Credits over both stores, for tests: as one process has them, and as another one does. */
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Directory } from '../accounts/directory.ts'
import type { Db } from '../db/db.ts'
import { openLocalJournal } from '../db/sqlite/local-journal.ts'
import { databaseFileName, type Store } from '../db/sqlite/store.ts'
import { createTemporaryDir, openTemporaryStore } from '../db/store.fixture.ts'
import { postgresSkipReason } from '../db/postgres/postgres.fixture.ts'
import { noopCoreListener } from './core.ts'
import { Credits } from './credits.ts'
import type { LedgerStore } from './ledger-store.ts'
import { NodeJournal } from './postgres/node-journal.ts'
import type { CommitFault } from './postgres/faulty-connection.fixture.ts'
import {
  openLedger,
  openNodeLedger,
  verifyDatabase,
  type TestLedger,
} from './postgres/shared-ledger.fixture.ts'
import { SharedStore } from './postgres/shared-store.ts'
import type { CommitSink } from './sqlite/commit-queue.ts'
import { EmbeddedLedger } from './sqlite/embedded-ledger.ts'
import { recoverLedger } from './sqlite/recovery.ts'
import { SpendNotifications } from './spend-notifications.ts'
import { verifyFile } from './verification/served-ledger.fixture.ts'
import type { LedgerReport } from './verification/replay.ts'

const at = 1_790_000_000_000

export interface OpenedCredits {
  readonly credits: Credits
  readonly db: Db
  /** Credits as another process has them: after a restart, or at another node. */
  readonly another: () => Promise<Credits>
  readonly verify: () => Promise<LedgerReport>
}

function creditsOver(store: LedgerStore, db: Db): Credits {
  const spendNotifications = new SpendNotifications({
    state: store.state,
    directory: new Directory(),
    db,
    currency: 'CNY',
  })
  return new Credits(store, spendNotifications, () => at)
}

export async function recoverCredits(store: Store, sink: CommitSink): Promise<Credits> {
  const clocks = { now: () => at, monotonicNow: () => 0 }
  const reopening = { db: store.db, leftPeriods: [], onReopeningFailed: () => undefined }
  const deps = { sink, listener: noopCoreListener, ...clocks, ...reopening }
  return creditsOver(new EmbeddedLedger(await recoverLedger(store, at), deps), store.db)
}

async function openSqlite(t: TestContext): Promise<OpenedCredits> {
  const store = await openTemporaryStore(t)
  return {
    credits: await recoverCredits(store, store),
    db: store.db,
    another: () => recoverCredits(store, store),
    verify: () => verifyFile(join(store.dataDir, databaseFileName)),
  }
}

async function creditsOfNode(t: TestContext, { ledger, db }: TestLedger): Promise<Credits> {
  const local = await openLocalJournal(createTemporaryDir(t))
  t.after(() => local.close())
  return creditsOver(new SharedStore({ ledger, journal: new NodeJournal(local), db }), db)
}

export async function openPostgres(
  t: TestContext,
  nextFault: () => CommitFault = () => 'pass',
): Promise<OpenedCredits> {
  const node = await openLedger(t, nextFault)
  return {
    credits: await creditsOfNode(t, node),
    db: node.db,
    another: async () =>
      creditsOfNode(t, await openNodeLedger(t, 'two', node.url, { nextFault: () => 'pass' })),
    verify: () => verifyDatabase(node.url),
  }
}

export const stores = [
  { name: 'SQLite', skip: false, open: openSqlite },
  { name: 'PostgreSQL', skip: postgresSkipReason, open: openPostgres },
] as const
