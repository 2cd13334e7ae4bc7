/**
 * The messages between workers and the main thread. Messages that every request needs are batched for one turn of the
 * event loop and sent as one JSON text: one message wakes the other thread once, and a text costs half as much as copying
 * objects between threads. Rare messages are sent as they are.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../../config.ts'
import type { ApiErrorCode, ApiErrorDetail } from '../../errors.ts'
import type { Change, Changes } from '../../db/change.ts'
import type { DbAccess } from '../../db/open-db.ts'
import type { BackupRequest } from '../../db/backups.ts'
import type { DataKeys } from '../../lib/encryption.ts'
import type { AuthThrottleRequest } from '../../http/auth-throttle.ts'
import type { AdmissionOutage } from '../../health/admission-outage.ts'
import type { CreditRequest } from '../../ledger/credits/credit-request.ts'
import type {
  SuccessCount,
  SuccessReport,
  CircuitChange,
  CircuitKeys,
  FailureReport,
} from '../../health/call-reports.ts'
import type { HoldRequest, ResponseToStore, SettleRequest } from '../../relay/ledger-client.ts'
import type { RejectedFieldRecord } from '../../relay/routing/rejected-fields.ts'
import type { Rejection } from './rejection.ts'

/** From a worker, for requests. `callId` identifies the reply. */
export type FromWorker =
  | { readonly kind: 'hold'; readonly callId: number; readonly request: HoldRequest }
  | { readonly kind: 'extend'; readonly callId: number; readonly id: string; readonly remaining: number }
  | {
      readonly kind: 'mark'
      readonly callId: number
      readonly id: string
      readonly input: number
      readonly output: number
    }
  | { readonly kind: 'settle'; readonly callId: number; readonly request: SettleRequest }
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  /** A caller waits for this commit: write it at once. */
  | { readonly kind: 'flush'; readonly commit: number }

/** From a worker, rarely. */
export type FromWorkerUnbatched =
  | { readonly kind: 'control'; readonly callId: number; readonly request: ControlRequest }
  /** Belongs to the settlement of this hold, which follows. */
  | { readonly kind: 'stored-response'; readonly id: string; readonly storedResponse: ResponseToStore }
  /** The reply to `changed` and `collect-metrics`. */
  | { readonly kind: 'reply'; readonly callId: number; readonly result: unknown }
  /** Reports of an account wait for a slot: the result says whether they got one. */
  | { readonly kind: 'acquire-report'; readonly callId: number; readonly account: string }
  | { readonly kind: 'release-report'; readonly account: string }
  /** Calls of upstreams: successes are counted; a success or failure that may change a circuit is reported. */
  | { readonly kind: 'successes'; readonly counts: readonly SuccessCount[] }
  | { readonly kind: 'success'; readonly report: SuccessReport }
  | { readonly kind: 'failure'; readonly report: FailureReport }
  /** A model of an upstream rejects a field. */
  | { readonly kind: 'rejected-field'; readonly record: RejectedFieldRecord }
  /** The worker can serve, and waits for `listen`. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening' }
  /** After `drain`: no request runs here any more. */
  | { readonly kind: 'idle' }

/** From the main thread. Every result except that of a hold is sent once it is durable. */
export type ToWorker =
  | { readonly kind: 'result'; readonly callId: number; readonly result: unknown }
  | {
      readonly kind: 'error'
      readonly callId: number
      readonly code: ApiErrorCode
      readonly detail: ApiErrorDetail
    }
  | { readonly kind: 'durable'; readonly commit: number }
  /** Reload these, then reply. */
  | { readonly kind: 'changed'; readonly callId: number; readonly changes: Changes }
  /** Reply with the metrics. */
  | { readonly kind: 'collect-metrics'; readonly callId: number }
  | { readonly kind: 'state'; readonly state: NodeState }
  /** These circuits have changed. */
  | { readonly kind: 'circuits'; readonly changes: readonly CircuitChange[] }
  /** Models of upstreams reject these fields. */
  | { readonly kind: 'rejected-fields'; readonly records: readonly RejectedFieldRecord[] }
  /** Reload the TLS certificate. */
  | { readonly kind: 'reload-certificate' }
  /** Open the port, then send `listening`. */
  | { readonly kind: 'listen' }
  /** Stop listening, finish the running requests, then send `idle`. */
  | { readonly kind: 'drain' }
  /** The grace period is over: abort the running requests. */
  | { readonly kind: 'abort' }

/** A result that is durable with this commit. */
export interface Committed<Result> {
  readonly commit: number
  readonly result: Result
}

/** Requests of HTTP handlers to the ControlHandler, apart from those of the relay. They are rare and not urgent. */
export type ControlRequest =
  | { readonly kind: 'credit'; readonly credit: CreditRequest }
  | { readonly kind: 'apply-credit-order'; readonly id: string }
  | { readonly kind: 'redeem'; readonly account: string; readonly code: string; readonly by: string }
  | { readonly kind: 'wallet'; readonly account: string; readonly key: string | null }
  | { readonly kind: 'publish-changes'; readonly changes: readonly Change[] }
  | { readonly kind: 'is-current' }
  | { readonly kind: 'verify' }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'nodes' }
  | { readonly kind: 'retire-node'; readonly node: string }
  /** Counts a free request against the rate limits. */
  | { readonly kind: 'take-rate-limit'; readonly id: string; readonly key: string }
  /** Counts a replay of a stored response in its own window. */
  | { readonly kind: 'take-replay'; readonly id: string; readonly key: string }
  /** Whether the retry budget allows one more attempt. */
  | { readonly kind: 'retry' }
  /** Whether this request may probe these circuits. */
  | { readonly kind: 'probe'; readonly keys: readonly string[] }
  /** The known health of these calls. */
  | { readonly kind: 'health'; readonly circuits: readonly CircuitKeys[] }
  | { readonly kind: 'backup'; readonly request: BackupRequest }
  | { readonly kind: 'auth-throttle'; readonly request: AuthThrottleRequest }

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
  readonly mainPort: MessagePort
  readonly db: DbAccess
  readonly config: Config
  readonly number: number
  /** The id of the node; null for a single relay. */
  readonly node: string | null
  readonly dataKeys: DataKeys
}
