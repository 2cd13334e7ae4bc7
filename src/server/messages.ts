/**
 * What workers and the authority say to each other. What is said for every request gathers for one turn of a thread's
 * loop and travels as one JSON text: one message wakes the other side once, and a text costs half of what copying
 * objects between threads does. What is rare travels as it is.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Config } from '../config.ts'
import type { RefusalCode, RefusalDetail } from '../errors.ts'
import type { Change, Changes } from '../db/change.ts'
import type { DbAccess } from '../db/open-db.ts'
import type { BackupAsk } from '../db/backups.ts'
import type { GuardAsk } from '../http/guard.ts'
import type { CreditOrder } from '../http/house.ts'
import type {
  AnsweredCount,
  AnsweredReport,
  CircuitNews,
  Circuits,
  FaultReport,
} from '../health/observation.ts'
import type { HoldAsk, KeptAnswer, RequestOutcome, SettleAsk } from '../relay/ledger-client.ts'

/** From a worker, for requests. `call` numbers what is answered. */
export type Ask =
  | { readonly kind: 'hold'; readonly call: number; readonly ask: HoldAsk }
  | { readonly kind: 'extend'; readonly call: number; readonly id: string; readonly remaining: number }
  | {
      readonly kind: 'mark'
      readonly call: number
      readonly id: string
      readonly input: number
      readonly output: number
    }
  | { readonly kind: 'settle'; readonly call: number; readonly ask: SettleAsk }
  | {
      readonly kind: 'refused'
      readonly id: string
      readonly keyId: string
      readonly outcome: RequestOutcome
    }
  /** Somebody waits for this commit: do not gather any longer. */
  | { readonly kind: 'need'; readonly commit: number }

/** From a worker, now and then. */
export type RareAsk =
  | { readonly kind: 'order'; readonly call: number; readonly order: Order }
  /** Goes with the settlement of this hold, which follows. */
  | { readonly kind: 'kept'; readonly id: string; readonly kept: KeptAnswer }
  /** Answers `changed` and `count`. */
  | { readonly kind: 'reply'; readonly call: number; readonly result: unknown }
  /** What was seen of upstreams: plain answers counted, and what may change a circuit. */
  | { readonly kind: 'answers'; readonly counts: readonly AnsweredCount[] }
  | { readonly kind: 'answered'; readonly report: AnsweredReport }
  | { readonly kind: 'fault'; readonly report: FaultReport }
  /** This upstream refuses `stream_options`. */
  | { readonly kind: 'learned'; readonly upstream: string }
  | { readonly kind: 'ready' }
  /** After `drain`: nothing runs here any more. */
  | { readonly kind: 'idle' }

/** From the authority, for requests. Everything but a hold is answered when it is durable. */
export type Word =
  | { readonly kind: 'answer'; readonly call: number; readonly result: unknown }
  | {
      readonly kind: 'refusal'
      readonly call: number
      readonly code: RefusalCode
      readonly detail: RefusalDetail
    }
  | { readonly kind: 'durable'; readonly commit: number }
  /** Load these again, then reply. */
  | { readonly kind: 'changed'; readonly call: number; readonly changes: Changes }
  /** Tell what you have counted. */
  | { readonly kind: 'count'; readonly call: number }
  | { readonly kind: 'state'; readonly state: NodeState }
  /** These circuits have changed. */
  | { readonly kind: 'circuits'; readonly news: readonly CircuitNews[] }
  /** These upstreams refuse `stream_options`. */
  | { readonly kind: 'learned'; readonly upstreams: readonly string[] }
  /** Stop listening, finish what runs, say `idle`. */
  | { readonly kind: 'drain' }
  /** The grace is over: end what still runs. */
  | { readonly kind: 'end' }

/** Done, and durable with this commit. */
export interface Committed<Result> {
  readonly commit: number
  readonly result: Result
}

/** What the doors ask of the authority beside requests: little, and not in a hurry. */
export type Order =
  | { readonly do: 'credit'; readonly credit: CreditOrder }
  | { readonly do: 'enter-order'; readonly id: string }
  | { readonly do: 'redeem'; readonly account: string; readonly code: string; readonly by: string }
  | { readonly do: 'wallet'; readonly account: string; readonly key: string | null }
  | { readonly do: 'announce'; readonly changes: readonly Change[] }
  | { readonly do: 'is-current' }
  | { readonly do: 'verify' }
  | { readonly do: 'metrics' }
  | { readonly do: 'nodes' }
  | { readonly do: 'retire'; readonly node: string }
  /** A place in the rates, for a request that costs nothing. */
  | { readonly do: 'rate'; readonly id: string; readonly key: string }
  /** May one more attempt be made? Answers yes or no. */
  | { readonly do: 'retry' }
  /** May this request be the probe of these circuits? Answers yes or no. */
  | { readonly do: 'probe'; readonly keys: readonly string[] }
  /** What is known of the health of these calls. */
  | { readonly do: 'health'; readonly circuits: readonly Circuits[] }
  | { readonly do: 'backup'; readonly ask: BackupAsk }
  | { readonly do: 'guard'; readonly ask: GuardAsk }

export interface NodeState {
  /** False while starting, draining, or without the store. */
  readonly isReady: boolean
  /** The store takes commits. */
  readonly isAdmitting: boolean
  /** A signal has come: the port is about to close. */
  readonly isDraining: boolean
}

/** What a worker is born with. */
export interface WorkerBirth {
  readonly authority: MessagePort
  readonly db: DbAccess
  readonly config: Config
  readonly number: number
  readonly dataKey: Uint8Array
}
