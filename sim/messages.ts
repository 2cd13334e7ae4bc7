/** Messages between the workers and the authority of the simulated node. */
import type { HoldOptions } from '../src/ledger/holds.ts'
import type { Price, Usage } from '../src/ledger/price.ts'
import type { IdempotencyClaimRequest } from '../src/relay/ledger-client.ts'

export interface SimHoldOptions {
  readonly account: string
  readonly key: string
  readonly mode: 'stream' | 'non-streaming'
  readonly inputTokens: number
  readonly price: Price
  readonly factorPpm: number
  /** The caller's maximum of output tokens. */
  readonly requestedTokens: number | null
  /** Web searches that are held at first. */
  readonly searches: number
  /** Whether the model's upstreams have been seen to obey a maximum. */
  readonly maximum: HoldOptions['maximum']
}

export type SimOperation =
  | {
      readonly kind: 'hold'
      readonly options: SimHoldOptions
      readonly claim?: IdempotencyClaimRequest | undefined
    }
  | { readonly kind: 'extend'; readonly remaining: number; readonly searches: number }
  | { readonly kind: 'mark'; readonly input: number; readonly output: number }
  | {
      readonly kind: 'settle'
      readonly usage: Usage | null
      /** What is charged at most. */
      readonly bound: Usage | null
      /** The caller disconnected before the first content. */
      readonly leftEarly?: { readonly usage: Usage | null } | undefined
      readonly stored: SimStoredResponse | null
    }

/** What is stored under an `Idempotency-Key`. The response is null if it was truncated. */
export interface SimStoredResponse {
  readonly response: Uint8Array | null
  readonly isComplete: boolean
}

/** One operation of one request. The same message may arrive twice. */
export interface SimMessage {
  readonly worker: number
  readonly call: number
  readonly id: string
  readonly operation: SimOperation
}

export type SimResponse =
  | {
      readonly kind: 'granted'
      readonly paidTokens: number
      readonly maxTokens: number | null
      readonly commit: number
    }
  | { readonly kind: 'denied' }
  /** The result under the key may be on disk as of this commit. */
  | { readonly kind: 'retry after commit'; readonly commit: number }
  | { readonly kind: 'extended'; readonly paidTokens: number }
  | { readonly kind: 'marked' }
  | { readonly kind: 'settled' }
  /** Everything up to this commit is on disk. */
  | { readonly kind: 'durable'; readonly commit: number }

export interface SimReply {
  readonly worker: number
  readonly call: number
  readonly id: string
  readonly response: SimResponse
}
