/** The admin API without a listener: for the control socket of a running relay, and for commands if none is running. */
import type { Config } from '../config.ts'
import { AdmissionOutages } from '../health/admission-outage.ts'
import type { AppContext } from '../http/app-context.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { defaultClientBounds, HttpClient } from '../lib/http-client/http-client.ts'
import { createLog } from '../lib/log.ts'
import { noopCoreListener, type Core } from '../engine/core.ts'
import { openCore } from './open-core.ts'
import { ControlHandler } from './workers/control-handler.ts'
import { fetchModels, testUpstream } from '../relay/upstreams/operator-calls.ts'
import { version } from '../lib/version.ts'

/** Not part of the admin API: only commands on this machine may rotate the encryption key. */
const rotationPath = '/api/admin/rotate-key'

export interface LocalAdmin {
  readonly fetch: (request: Request) => Promise<Response>
  close(): Promise<void>
}

/** The admin API and `/rotate-key` over a core, without authentication: for users who can open the data directory. */
export function createAdminHandler(
  config: Config,
  core: Core,
  control: ControlHandler,
  onInternalError: (error: unknown, requestId: string) => void,
): (request: Request) => Promise<Response> {
  const client = new HttpClient({ ...defaultClientBounds, allow: parseCidrs(config.upstreamAllow.join(',')) })
  const attemptDeps = { client, maxResponseBytes: config.answerLimitBytes, now: Date.now }
  const ctx: AppContext = {
    ...control.services,
    config,
    db: core.store.db,
    currency: core.currency,
    directory: core.directory,
    catalog: core.catalog,
    branding: core.branding,
    sealer: core.sealer,
    version,
    testUpstream: (id, model) => testUpstream(core.catalog, attemptDeps, id, model),
    fetchModels: (id) => fetchModels(core.catalog, attemptDeps, id),
    backups: control.backups,
    payments: control.payments,
    automaticRecharges: control.automaticRecharges,
    authThrottle: control.authThrottle,
    isReady: () => core.commits.isAdmitting,
    admissionOutage: () => control.outages.current,
  }
  const openApp = async () =>
    (await import('../http/admin/app.ts')).createAdminApp(ctx, {
      authenticate: () => ({ by: 'command-line', session: null }),
      onInternalError,
    })
  const openRotation = async () =>
    (await import('./key-rotation/rotation-endpoint.ts')).createRotationEndpoint(ctx, onInternalError)
  // Loaded with the first request, so that it does not delay the start.
  let app: ReturnType<typeof openApp> | undefined
  let rotation: ReturnType<typeof openRotation> | undefined
  return async (request) =>
    new URL(request.url).pathname === rotationPath
      ? (await (rotation ??= openRotation()))(request)
      : (await (app ??= openApp())).fetch(request)
}

/** Opens a data directory that the caller has locked, for one command. */
export async function openLocalAdmin(config: Config): Promise<LocalAdmin> {
  const core = await openCore(config, noopCoreListener)
  const onInternalError = (error: unknown): void => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  }
  const control = await ControlHandler.open({
    core,
    config,
    log: createLog('silent'),
    workerMetrics: () => Promise.resolve([]),
    isLedgerConsistent: () => true,
    outages: new AdmissionOutages(),
  })
  const close = async (): Promise<void> => {
    await control.backups.close()
    await core.close()
  }
  return { fetch: createAdminHandler(config, core, control, onInternalError), close }
}
