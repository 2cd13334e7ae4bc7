/** What the main thread does for HTTP handlers and commands. */
import { Registry } from '@prometheus-io/client'
import type { Config } from '../../config.ts'
import type { Change } from '../../db/change.ts'
import type { AdmissionOutages } from '../../health/admission-outage.ts'
import type { MainThreadServices } from '../../http/app-context.ts'
import { createAuthThrottle, type AuthThrottle } from '../../http/auth-throttle.ts'
import { LoginThrottle } from '../../limits/login-throttle.ts'
import { BackupRunner } from '../../backup/backup-runner.ts'
import type { Core } from '../../engine/core.ts'
import { CreditService } from '../../engine/credit-service.ts'
import { AutomaticRechargeService } from '../../engine/payments/automatic-recharge-service.ts'
import { bonusFor } from '../../engine/payments/order-bonus.ts'
import type { PaymentDeps } from '../../engine/payments/payment-deps.ts'
import { PaymentService } from '../../engine/payments/payment-service.ts'
import { publicUrlOf } from '../../http/public-urls.ts'
import { bonusAtSettlement } from '../../payments/recharge-bonuses.ts'
import { createPaymentMethods, type PaymentMethods } from '../../payments/payment-methods.ts'
import { ProviderHttp } from '../../payments/provider-http.ts'
import type { Log } from '../../lib/log.ts'
import { NodeMetrics } from '../metrics/node-metrics.ts'
import { ExportSlots } from './export-slots.ts'

export interface ControlHandlerDeps {
  readonly core: Core
  readonly config: Config
  readonly log: Log
  /** The metrics of every worker. */
  readonly workerMetrics: () => Promise<object[]>
  readonly isLedgerConsistent: () => boolean
  readonly outages: AdmissionOutages
}

/** The payment methods that are configured, and the client by which they ask their providers. */
interface Providers {
  readonly methods: PaymentMethods
  readonly http: ProviderHttp
}

export class ControlHandler {
  readonly #deps: ControlHandlerDeps
  readonly creditService: CreditService
  readonly payments: PaymentService
  readonly automaticRecharges: AutomaticRechargeService
  readonly backups: BackupRunner
  readonly authThrottle: AuthThrottle
  readonly outages: AdmissionOutages
  readonly #nodeMetrics: NodeMetrics
  readonly #exports = new ExportSlots()
  readonly #providers: Providers

  /** Throws a `ConfigError` if a payment method is half configured. */
  static async open(deps: ControlHandlerDeps): Promise<ControlHandler> {
    const { config, core } = deps
    const http = new ProviderHttp(config.paymentAllow)
    const methods = await createPaymentMethods({ config, currency: core.currency, http, now: Date.now })
    return new ControlHandler(deps, { methods, http })
  }

  private constructor(deps: ControlHandlerDeps, providers: Providers) {
    this.#deps = deps
    this.#providers = providers
    this.outages = deps.outages
    const { core } = deps
    const loginThrottle = new LoginThrottle(core.store.db, Date.now, deps.config.writesPerMinute)
    this.backups = new BackupRunner(deps.config)
    this.#nodeMetrics = new NodeMetrics({ ...deps, backups: this.backups })
    this.authThrottle = createAuthThrottle(loginThrottle)
    this.creditService = new CreditService({
      core,
      loginThrottle,
      publishChanges: (changes) => this.publishChanges(changes),
    })
    const paymentDeps = this.#paymentDepsOf(deps)
    this.payments = new PaymentService(paymentDeps)
    const automaticRecharges = new AutomaticRechargeService(paymentDeps)
    this.automaticRecharges = automaticRecharges
    if (automaticRecharges.isOffered)
      core.listenToCharges((account, available) => automaticRecharges.onCharged(account, available))
  }

  #paymentDepsOf({ core, config, log }: ControlHandlerDeps): PaymentDeps {
    return {
      db: core.store.db,
      config,
      log,
      methods: this.#providers.methods,
      platformCurrency: core.currency,
      publicUrl: publicUrlOf(config),
      now: Date.now,
      credits: core.credits,
      wallet: async (account) => core.authority.wallet(account, null),
      availableUnderHolds: () => core.authority.availableUnderHolds(),
      publishChanges: (changes) => this.publishChanges(changes),
      applyCreditOrder: (id) => this.creditService.applyOrder(id),
      bonusFor: (account, creditNanos, at) => bonusFor(core.store.db, { account, creditNanos, at }),
      bonusAtSettlement: (order, isAsOrdered) => bonusAtSettlement(core.store.db, order, isAsOrdered),
    }
  }

  /** Ends the calls of payment providers: what they were about is asked again after the next start. */
  async closePayments(): Promise<void> {
    this.payments.stop()
    const attempts = this.automaticRecharges.stop()
    await this.#providers.http[Symbol.asyncDispose]()
    await attempts
  }

  /** What handlers call, on this thread or another one. */
  get services(): MainThreadServices {
    const { core } = this.#deps
    const { creditService } = this
    return {
      credit: (request) => creditService.credit(request),
      applyCreditOrder: (id) => creditService.applyOrder(id),
      redeemVoucher: (account, code, by) => creditService.redeem(account, code, by),
      wallet: async (account, key) => core.authority.wallet(account, key),
      publishChanges: (changes) => this.publishChanges(changes),
      isCurrent: () => core.isCurrent(),
      verify: () => core.verifyLedger(),
      nodes: () => core.nodes(),
      retireNode: (id) => core.retireNode(id),
      callHealth: (circuits) => Promise.resolve(circuits.map((each) => core.health.callHealth(each))),
      takeExport: (account, id) => Promise.resolve(this.#exports.take(account, id)),
      endExport: (account, id) => Promise.resolve(this.#exports.end(account, id)),
      respond: () => core.store.db.write({ sql: 'select 1', parameters: [] }).then(() => undefined),
      metrics: () => this.#metrics(),
    }
  }

  publishChanges(changes: readonly Change[]): Promise<void> {
    return this.#deps.core.publishChanges(changes)
  }

  async #metrics(): Promise<string> {
    const [own, fromWorkers] = await Promise.all([this.#nodeMetrics.collect(), this.#deps.workerMetrics()])
    return Registry.aggregate([...own, ...fromWorkers]).metrics()
  }
}
