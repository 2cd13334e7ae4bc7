/** What the main thread and its workers offer to each other. How calls travel: rpc/channel.ts. */
import type { Config } from '../../config.ts'
import type { DbAccess } from '../../db/open-db.ts'
import type { ObservedMaximum } from '../../catalog/route-maximums.ts'
import type { AutomaticRechargeServices } from '../../engine/payments/automatic-recharge-service.ts'
import type { PaymentServices } from '../../engine/payments/payment-service.ts'
import type { BackupService } from '../../db/backups.ts'
import type { DataKeys } from '../../lib/encryption.ts'
import type { MainThreadServices } from '../../http/app-context.ts'
import type { AuthThrottle } from '../../http/auth-throttle.ts'
import type { AdmissionOutage } from '../../health/admission-outage.ts'
import type { CircuitChange } from '../../health/call-reports.ts'
import type { RateStatus } from '../../limits/rate-limiter.ts'
import type { ResponseToStore } from '../../ledger/transaction.ts'
import type { RejectedFieldRecord } from '../../relay/routing/rejected-fields.ts'
import type { Channel, Endpoint } from '../../rpc/channel.ts'
import type { RemoteReportSlots } from './report-slots.ts'
import type { HealthService } from '../../relay/upstreams/upstream-health.ts'
import type { ConfigDelta } from '../../engine/config-cache.ts'
import type { LedgerEvents } from '../../engine/ledger-calls.ts'

/** Calls of the relay that are rare. */
export interface RelayService {
  /** Counts a free request against the rate limits. */
  takeTokenCount(id: string, keyId: string): Promise<RateStatus>
  /** Counts a replay of a stored response in its own window. */
  takeReplay(id: string, keyId: string): Promise<void>
  /** Belongs to the settlement of this hold, which follows. */
  storeResponse(id: string, response: ResponseToStore): void
  /** A model of an upstream rejects a field. */
  addRejectedField(record: RejectedFieldRecord): void
  /** A response has shown whether a route obeys the maximum of output tokens. */
  observeMaximum(observed: ObservedMaximum): void
  /** The worker can serve, and waits for `listen`. */
  onReady(): void
}

/** The services of the main thread. */
export interface MainServices {
  readonly control: MainThreadServices
  readonly backups: BackupService
  readonly payments: PaymentServices
  readonly automaticRecharges: AutomaticRechargeServices
  readonly authThrottle: AuthThrottle
  readonly health: HealthService
  readonly relay: RelayService
  readonly reportSlots: RemoteReportSlots
}

export interface WorkerService {
  applyConfigDelta(delta: ConfigDelta): Promise<void>
  collectMetrics(): Promise<object>
  setState(state: NodeState): void
  applyCircuitChanges(changes: readonly CircuitChange[]): void
  addRejectedFields(records: readonly RejectedFieldRecord[]): void
  reloadCertificate(): void
  /** Opens the port. Resolves with null, or with the reason why it cannot. */
  listen(): Promise<string | null>
  /** Stops listening; resolves when no request runs any more. */
  drain(): Promise<void>
  /** The grace period is over: aborts the running requests. */
  abort(): void
}

/** The services of a worker. */
export interface WorkerServices {
  readonly worker: WorkerService
}

/** The main thread's end of the connection to a worker. */
export type WorkerChannel = Channel<WorkerServices, LedgerEvents>

export interface NodeState {
  /** False while starting or draining. */
  readonly isReady: boolean
  /** null: the store accepts commits, and the ledger is consistent. */
  readonly outage: AdmissionOutage | null
  /** A signal was received: the port is about to close. */
  readonly isDraining: boolean
}

/** The first message to a worker. */
export interface WorkerInit {
  readonly mainPort: Endpoint
  readonly db: DbAccess
  readonly config: Config
  /** The platform's currency. */
  readonly currency: string
  readonly number: number
  /** The id of the node; null for a single relay. */
  readonly node: string | null
  readonly dataKeys: DataKeys
  /** The names of `MainServices.control`. */
  readonly controlMethods: readonly string[]
}
