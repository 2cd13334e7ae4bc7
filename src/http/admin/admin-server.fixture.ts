/**
 * The automation contract over a real store in a directory of its own, for calls that need no ledger: what asks the
 * authority is told in test/admin.test.ts, over the whole program.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { loadDelta, loadDirectory } from '../../accounts/directory.ts'
import { loadCatalog, loadCatalogDelta } from '../../catalog/catalog.ts'
import { readConfig } from '../../config.ts'
import { anyStore, type TestStore } from '../../db/store.fixture.ts'
import { newDataKey, sealerOf } from '../../lib/encryption.ts'
import { fetchListener } from '../server/fetch-listener.ts'
import { backupsBy } from '../../db/backups.ts'
import { Attempts } from '../../limits/attempts.ts'
import { openGuard } from '../guard.ts'
import type { House } from '../house.ts'
import { adminPath, createAdminApp } from './app.ts'

export const adminApiKey = 'the-key-of-the-operator'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export interface Office {
  readonly house: House
  readonly store: TestStore
  /** Where it is served. */
  readonly url: string
  /** One call with the right key; a body that is a string is sent as it is. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
}

function absent(): never {
  throw new Error('There is no authority in this house.')
}

/** Serves on a port of its own until the test ends; resolves to the contract's address. */
async function listening(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${adminPath}`
}

export async function openOffice(
  t: TestContext,
  settings: { environment?: Record<string, string>; authenticate?: boolean } = {},
): Promise<Office> {
  const store = await anyStore(t)
  const { db } = store
  const sealer = sealerOf(newDataKey())
  const [directory, catalog] = [await loadDirectory(db), await loadCatalog(db, sealer)]
  const house: House = {
    config: readConfig({ ADMIN_API_KEY: adminApiKey, ...settings.environment }),
    db,
    directory,
    catalog,
    sealer,
    version: '0.0.0',
    credit: absent,
    enterOrder: absent,
    redeem: absent,
    wallet: absent,
    isCurrent: absent,
    verify: absent,
    tryUpstream: absent,
    health: absent,
    fetchModels: absent,
    nodes: absent,
    retireNode: absent,
    metrics: absent,
    backups: backupsBy(absent),
    guard: openGuard(new Attempts(db)),
    isReady: () => true,
    async announce(changes) {
      directory.apply(await loadDelta(db, changes))
      catalog.apply(await loadCatalogDelta(db, changes))
    },
  }
  const app = createAdminApp(house, { authenticate: settings.authenticate ?? true })
  const url = await listening(
    t,
    fetchListener(async (request) => app.fetch(request)),
  )
  return {
    house,
    store,
    url,
    async call(method, path, body, headers = {}) {
      const init: RequestInit = {
        method,
        headers: {
          authorization: `Bearer ${adminApiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }
      const reply = await fetch(`${url}${path}`, init)
      const text = await reply.text()
      return { status: reply.status, headers: reply.headers, body: text === '' ? null : JSON.parse(text) }
    },
  }
}
