/** Handles the control requests that HTTP handlers and commands send to the main thread. */
import { Gauge, Registry } from '@prometheus-io/client'
import type { Config } from '../../config.ts'
import type { Change, Changes } from '../../db/change.ts'
import { handleBackupRequest } from '../../db/backups.ts'
import type { CreditReceipt } from '../../ledger/credits/credit-request.ts'
import type { LedgerReport } from '../../ledger/report.ts'
import type { VoucherReceipt } from '../../ledger/credits/vouchers.ts'
import type { Wallet } from '../../ledger/wallet.ts'
import { handleAuthThrottleRequest, createAuthThrottle, type AuthThrottle } from '../../http/auth-throttle.ts'
import { LoginThrottle } from '../../limits/login-throttle.ts'
import { BackupRunner } from '../backup/backup-runner.ts'
import type { Core } from '../ledger/core.ts'
import type { ControlRequest } from './protocol.ts'
import { CreditService } from '../ledger/credit-service.ts'

export interface ControlHandlerDeps {
  readonly core: Core
  readonly config: Config
  /** Resolves when every worker has applied the changes. */
  readonly broadcast: (changes: Changes) => Promise<void>
  /** The metrics of every worker. */
  readonly workerMetrics: () => Promise<object[]>
}

function nodeMetrics(core: Core): Registry {
  const registry = new Registry()
  const gauge = (name: string, help: string, value: number): void =>
    new Gauge({ name, help, registers: [registry] }).set(value)
  gauge('sluice_open_holds', 'Requests with an open hold', core.state.holds.size)
  gauge(
    'sluice_overrun_yuan',
    'Cost of delivered responses that could not be charged, since the ledger began',
    Number(core.state.overrun) / 1e9,
  )
  gauge('sluice_ledger_commits', 'Ledger commits on disk', core.commits.durable)
  gauge('sluice_admitting', '1: the store accepts commits', core.commits.isAdmitting ? 1 : 0)
  for (const { name, help, value } of core.gauges()) gauge(name, help, value)
  core.health.addMetrics(registry)
  gauge('process_resident_memory_bytes', 'Resident memory', process.memoryUsage.rss())
  gauge('process_cpu_seconds_total', 'CPU time of all threads', cpuSeconds())
  return registry
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

export class ControlHandler {
  readonly #deps: ControlHandlerDeps
  readonly creditService: CreditService
  readonly backups: BackupRunner
  readonly authThrottle: AuthThrottle

  constructor(deps: ControlHandlerDeps) {
    this.#deps = deps
    const { core } = deps
    const loginThrottle = new LoginThrottle(core.store.db)
    this.backups = new BackupRunner(deps.config)
    this.authThrottle = createAuthThrottle(loginThrottle)
    this.creditService = new CreditService({
      core,
      loginThrottle,
      publishChanges: (changes) => this.publishChanges(changes),
    })
  }

  /** Throws an ApiError. */
  async handle(request: ControlRequest): Promise<unknown> {
    const { core } = this.#deps
    switch (request.kind) {
      case 'credit':
        return (await this.creditService.credit(request.credit)) satisfies CreditReceipt
      case 'apply-credit-order':
        return (await this.creditService.applyOrder(request.id)) satisfies CreditReceipt
      case 'redeem':
        return (await this.creditService.redeem(
          request.account,
          request.code,
          request.by,
        )) satisfies VoucherReceipt
      case 'wallet':
        return (await core.authority.wallet(request.account, request.key)) satisfies Wallet
      case 'publish-changes':
        return this.publishChanges(request.changes)
      case 'is-current':
        return core.isCurrent()
      case 'verify':
        return this.verify()
      case 'nodes':
        return core.nodes()
      case 'retire-node':
        return core.retireNode(request.node)
      case 'metrics':
        return this.metrics()
      case 'take-rate-limit':
        return core.authority.takeRateLimit(request.id, request.key)
      case 'retry':
        return core.health.mayRetry()
      case 'probe':
        return core.health.breakers.acquireProbe(request.keys)
      case 'health':
        return request.circuits.map((circuits) => core.health.callHealth(circuits))
      case 'backup':
        return handleBackupRequest(this.backups, request.request)
      case 'auth-throttle':
        return handleAuthThrottleRequest(this.authThrottle, request.request)
    }
  }

  /** Resolves when every thread has applied the changes. */
  async publishChanges(changes: readonly Change[]): Promise<void> {
    await this.#deps.core.applyConfigChanges(changes)
    await this.#deps.broadcast(changes)
  }

  verify(): Promise<LedgerReport> {
    return this.#deps.core.verifyLedger()
  }

  async metrics(): Promise<string> {
    const own = await nodeMetrics(this.#deps.core).getMetricsAsJSON()
    const fromWorkers = await this.#deps.workerMetrics()
    return Registry.aggregate([own, ...fromWorkers]).metrics()
  }
}
