/**
 * The admin API over a real store in its own directory, for endpoints that need no ledger. Those that do are tested
 * over the whole program in test/e2e/admin/admin-api.test.ts.
 */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { loadDirectoryDelta, loadDirectory } from '../../accounts/directory.ts'
import { CurrentBranding } from '../../branding/branding.ts'
import { loadCatalog, loadCatalogDelta } from '../../catalog/load-catalog.ts'
import { readConfig } from '../../config.ts'
import type { BackupService } from '../../db/backups.ts'
import type { PaymentServices } from '../../engine/payments/payment-service.ts'
import type { TestStore } from '../../db/store.fixture.ts'
import { generateDataKey, createSealer } from '../../lib/encryption.ts'
import { fetchListener } from '../server/fetch-listener.ts'
import { LoginThrottle } from '../../limits/login-throttle.ts'
import { openRolledUpStore } from '../../usage/rollups/rolled-up-store.fixture.ts'
import { createAuthThrottle } from '../auth-throttle.ts'
import type { AppContext } from '../app-context.ts'
import { authenticateByKey } from './admin-context.ts'
import { adminPath, createAdminApp } from './app.ts'

export const adminApiKey = 'the-key-of-the-operator'

export interface TestResponse {
  readonly status: number
  readonly headers: Headers
  readonly body: unknown
}

export interface AdminServer {
  readonly ctx: AppContext
  readonly store: TestStore
  /** The base URL of the admin API. */
  readonly url: string
  /** Sends one request with the admin key. A string body is sent unchanged. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestResponse>
}

function unavailable(): never {
  throw new Error('This test server has no ledger.')
}

const noBackups: BackupService = {
  list: unavailable,
  make: unavailable,
  check: unavailable,
  remove: unavailable,
  download: unavailable,
}

const noPayments: PaymentServices = {
  methods: unavailable,
  preview: unavailable,
  createOrder: unavailable,
  checkOrder: unavailable,
  cancelOrder: unavailable,
  confirmOrder: unavailable,
  requestRefund: unavailable,
  refundable: unavailable,
  approveRefund: unavailable,
  refuseRefund: unavailable,
  completeRefund: unavailable,
  reconcile: unavailable,
  decideDifference: unavailable,
  currencyOf: unavailable,
  receiveNotice: unavailable,
  countForgedNotice: unavailable,
  checkOpenOrdersSoon: unavailable,
}

/** What this server cannot do. */
const withoutLedger = {
  credit: unavailable,
  applyCreditOrder: unavailable,
  redeemVoucher: unavailable,
  wallet: unavailable,
  isCurrent: unavailable,
  verify: unavailable,
  testUpstream: unavailable,
  callHealth: unavailable,
  fetchModels: unavailable,
  nodes: unavailable,
  retireNode: unavailable,
  respond: unavailable,
  takeExport: unavailable,
  endExport: unavailable,
  metrics: unavailable,
  backups: noBackups,
  payments: noPayments,
  automaticRecharges: { consent: unavailable, switchOff: unavailable, removeCard: unavailable },
}

/** Serves on a free port until the test ends. Resolves to the base URL of the admin API. */
async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${adminPath}`
}

export async function startAdminServer(
  t: TestContext,
  settings: { environment?: Record<string, string>; authenticate?: boolean } = {},
): Promise<AdminServer> {
  const store = await openRolledUpStore(t)
  const { db } = store
  const sealer = createSealer(generateDataKey())
  const [directory, catalog] = [await loadDirectory(db), await loadCatalog(db, sealer)]
  const ctx: AppContext = {
    config: readConfig({ ADMIN_API_KEY: adminApiKey, ...settings.environment }),
    db,
    currency: 'CNY',
    directory,
    catalog,
    branding: new CurrentBranding(null),
    sealer,
    version: '0.0.0',
    ...withoutLedger,
    authThrottle: createAuthThrottle(new LoginThrottle(db)),
    isReady: () => true,
    admissionOutage: () => null,
    async publishChanges(changes) {
      directory.apply(await loadDirectoryDelta(db, changes))
      catalog.apply(await loadCatalogDelta(db, changes))
    },
  }
  const byKey = authenticateByKey(ctx.config.adminApiKey)
  const app = createAdminApp(ctx, {
    authenticate: settings.authenticate === false ? () => ({ by: 'command-line', session: null }) : byKey,
  })
  const url = await listen(
    t,
    fetchListener(async (request) => app.fetch(request)),
  )
  return {
    ctx,
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
      const response = await fetch(`${url}${path}`, init)
      const text = await response.text()
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? null : JSON.parse(text),
      }
    },
  }
}
