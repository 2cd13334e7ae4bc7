/** The administration without HTTP: for the control socket of a running relay, and for commands when none runs. */
import type { Config } from '../config.ts'
import type { House } from '../http/house.ts'
import { parseCidrs } from '../lib/address-guard.ts'
import { defaultBounds, HttpClient } from '../lib/http-client/http-client.ts'
import { nobody, type Core } from './core.ts'
import { openCore } from './ledger/open-core.ts'
import { Orders } from './orders.ts'
import { fetchModels } from './fetch-models.ts'
import { tryUpstream } from './try-upstream.ts'
import { version } from './version.ts'

export interface OpenHouse {
  readonly fetch: (request: Request) => Promise<Response>
  close(): Promise<void>
}

/** The administration over a core, for whoever may open the data directory. */
export function administrationOver(
  config: Config,
  core: Core,
  orders: Orders,
  onBug: (error: unknown, requestId: string) => void,
): (request: Request) => Promise<Response> {
  const client = new HttpClient({ ...defaultBounds, allow: parseCidrs(config.upstreamAllow.join(',')) })
  const means = { client, maxAnswerBytes: config.answerLimitBytes, now: Date.now }
  const house: House = {
    config,
    db: core.store.db,
    directory: core.directory,
    catalog: core.catalog,
    sealer: core.sealer,
    version,
    credit: (order) => orders.programmes.credit(order),
    enterOrder: (id) => orders.programmes.enterOrder(id),
    redeem: (account, code, by) => orders.programmes.redeem(account, code, by),
    wallet: async (account, key) => core.authority.wallet(account, key),
    announce: (changes) => orders.announce(changes),
    isCurrent: () => core.isCurrent(),
    verify: () => orders.verify(),
    tryUpstream: (id, model) => tryUpstream(core.catalog, means, id, model),
    fetchModels: (id) => fetchModels(core.catalog, means, id),
    backups: orders.backups,
    guard: orders.guard,
    nodes: () => core.nodes(),
    retireNode: (node) => core.retireNode(node),
    metrics: () => orders.metrics(),
    health: (circuits) => Promise.resolve(circuits.map((each) => core.health.of(each))),
    isReady: () => core.commits.admitting,
  }
  const opened = async () =>
    (await import('../http/admin/app.ts')).createAdminApp(house, { authenticate: false, onBug })
  // Loaded with the first command that asks: a start has better things to do.
  let app: ReturnType<typeof opened> | undefined
  return async (request) => (await (app ??= opened())).fetch(request)
}

/** Opens a data directory whose lock the caller holds, for one command. */
export async function openHouse(config: Config): Promise<OpenHouse> {
  const core = await openCore(config, nobody)
  const onBug = (error: unknown): void => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
  }
  const orders = new Orders({
    core,
    config,
    broadcast: () => Promise.resolve(),
    counts: () => Promise.resolve([]),
  })
  const close = async (): Promise<void> => {
    await orders.backups.close()
    await core.close()
  }
  return { fetch: administrationOver(config, core, orders, onBug), close }
}
