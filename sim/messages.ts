/** What workers and the authority of the simulated node say to each other. */
import type { Price, Usage } from '../src/ledger/price.ts'
import type { ClaimAsk } from '../src/relay/ledger-client.ts'

export interface Terms {
  readonly account: string
  readonly key: string
  readonly manner: 'stream' | 'whole'
  readonly inputTokens: number
  readonly price: Price
  readonly factorPpm: number
}

export type Ask =
  | { readonly kind: 'hold'; readonly terms: Terms; readonly claim?: ClaimAsk | undefined }
  | { readonly kind: 'extend'; readonly remaining: number }
  | { readonly kind: 'mark'; readonly input: number; readonly output: number }
  | { readonly kind: 'settle'; readonly usage: Usage | null; readonly kept: Kept | null }

/** What the caller was told under an `Idempotency-Key`; the answer is null where it was cut off. */
export interface Kept {
  readonly answer: Uint8Array | null
  readonly isWhole: boolean
}

/** One ask of one request; the same one may come twice. */
export interface Letter {
  readonly worker: number
  readonly call: number
  readonly id: string
  readonly ask: Ask
}

export type Answer =
  | { readonly kind: 'granted'; readonly paid: number; readonly most: number | null; readonly commit: number }
  | { readonly kind: 'refused' }
  /** What the key came to may be on disk as of this commit. */
  | { readonly kind: 'look again'; readonly commit: number }
  | { readonly kind: 'extended'; readonly paid: number }
  | { readonly kind: 'marked' }
  | { readonly kind: 'settled' }
  /** Everything up to this commit is on disk. */
  | { readonly kind: 'durable'; readonly commit: number }

export interface Reply {
  readonly worker: number
  readonly call: number
  readonly id: string
  readonly answer: Answer
}
