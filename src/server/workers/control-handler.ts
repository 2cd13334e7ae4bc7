/** Handles the control requests that HTTP handlers and commands send to the main thread. */
import { Registry } from '@prometheus-io/client'
import type { Config } from '../../config.ts'
import type { Change, Changes } from '../../db/change.ts'
import { handleBackupRequest } from '../../db/backups.ts'
import type { AdmissionOutages } from '../../health/admission-outage.ts'
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
import { NodeMetrics } from '../metrics/node-metrics.ts'

export interface ControlHandlerDeps {
  readonly core: Core
  readonly config: Config
  /** Resolves when every worker has applied the changes. */
  readonly broadcast: (changes: Changes) => Promise<void>
  /** The metrics of every worker. */
  readonly workerMetrics: () => Promise<object[]>
  readonly isLedgerConsistent: () => boolean
  readonly outages: AdmissionOutages
}

export class ControlHandler {
  readonly #deps: ControlHandlerDeps
  readonly creditService: CreditService
  readonly backups: BackupRunner
  readonly authThrottle: AuthThrottle
  readonly outages: AdmissionOutages
  readonly #nodeMetrics: NodeMetrics

  constructor(deps: ControlHandlerDeps) {
    this.#deps = deps
    this.outages = deps.outages
    const { core } = deps
    const loginThrottle = new LoginThrottle(core.store.db)
    this.backups = new BackupRunner(deps.config)
    this.#nodeMetrics = new NodeMetrics({ ...deps, backups: this.backups })
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
        return core.authority.takeTokenCount(request.id, request.key)
      case 'take-replay':
        return core.authority.takeReplay(request.id, request.key)
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
    const [own, fromWorkers] = await Promise.all([this.#nodeMetrics.collect(), this.#deps.workerMetrics()])
    return Registry.aggregate([...own, ...fromWorkers]).metrics()
  }
}
