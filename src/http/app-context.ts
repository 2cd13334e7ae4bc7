/** The services that a request handler may use. */
import type { Directory } from '../accounts/directory.ts'
import type { CurrentBranding } from '../branding/branding.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Config } from '../config.ts'
import type { Change } from '../db/change.ts'
import type { Db } from '../db/db.ts'
import type { AdmissionOutage } from '../health/admission-outage.ts'
import type { CircuitKeys } from '../health/call-reports.ts'
import type { Sealer } from '../lib/encryption.ts'
import type { BackupService } from '../db/backups.ts'
import type { Wallet } from '../engine/caller-limits.ts'
import type { CreditRequest, CreditReceipt } from '../engine/credits.ts'
import type { AutomaticRechargeServices } from '../engine/payments/automatic-recharge-service.ts'
import type { PaymentServices } from '../engine/payments/payment-service.ts'
import type { LedgerReport } from '../engine/verification/replay.ts'
import type { TestCallResult, UpstreamModels } from '../health/upstream-tests.ts'
import type { CallHealth } from '../health/circuit-breakers.ts'
import type { VoucherReceipt } from '../ledger/credits/vouchers.ts'
import type { NodeRecord } from '../db/postgres/nodes.ts'
import type { AuthThrottle } from './auth-throttle.ts'

/** What the main thread does for handlers, which may run on another thread; every call passes through rpc/channel.ts. */
export interface MainThreadServices {
  /** Resolves when durable. Throws `conflict` if the balance is too low, or if the same key was used for another amount. */
  credit(request: CreditRequest): Promise<CreditReceipt>
  /** Credits a stored order (ledger/credits/credit-orders.ts) to its account; resolves when durable. */
  applyCreditOrder(creditId: string): Promise<CreditReceipt>
  /** `by`: the actor in the audit log. Throws an `ApiError` that says why the voucher cannot be redeemed. */
  redeemVoucher(accountId: string, code: string, by: string): Promise<VoucherReceipt>
  wallet(accountId: string, keyId: string | null): Promise<Wallet>
  /** Resolves when every thread has applied the changes. */
  publishChanges(changes: readonly Change[]): Promise<void>
  /** Whether this node knows all changes that any node made up to a second ago; waits briefly until it does. */
  isCurrent(): Promise<boolean>
  verify(): Promise<LedgerReport>
  /** Empty for a single relay. */
  nodes(): Promise<readonly NodeRecord[]>
  /** Returns how many requests of the node were settled. Throws `not_found`. */
  retireNode(id: string): Promise<number>
  /** The health of these calls, in the same order. */
  callHealth(circuits: readonly CircuitKeys[]): Promise<CallHealth[]>
  /** Whether the account may begin this export (CSV, PDF), or go on with it; it has one at a time. */
  takeExport(account: string, id: string): Promise<boolean>
  endExport(account: string, id: string): Promise<void>
  /** Resolves when the main thread and the writer of the store have responded. */
  respond(): Promise<void>
  /** The metrics of the whole process in Prometheus' text format. */
  metrics(): Promise<string>
}

/** Each worker creates one when it starts; the command line creates one without HTTP when no relay is running. */
export interface AppContext extends MainThreadServices {
  readonly config: Config
  readonly db: Db
  /** The platform's currency, ISO 4217. */
  readonly currency: string
  readonly directory: Directory
  readonly catalog: Catalog
  readonly branding: CurrentBranding
  readonly version: string
  /** Sends one real request to an upstream with its own name of a model (`POST /upstreams/{id}/test`). */
  testUpstream(upstreamId: string, model: string | null): Promise<TestCallResult>
  /** Requests an upstream's list of models. */
  fetchModels(upstreamId: string): Promise<UpstreamModels>
  /** Encrypts upstream credentials for the database. */
  readonly sealer: Sealer
  readonly backups: BackupService
  readonly payments: PaymentServices
  readonly automaticRecharges: AutomaticRechargeServices
  /** Limits guessing at sign-in; shared by the whole process. */
  readonly authThrottle: AuthThrottle
  isReady(): boolean
  /** Since when this node has rejected all requests; null if it admits them. */
  admissionOutage(): AdmissionOutage | null
}
