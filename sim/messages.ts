/** What workers and the authority of the simulated node say to each other. */
import type { Price, Usage } from '../src/ledger/price.ts'

export interface Terms {
  readonly account: string
  readonly key: string
  readonly manner: 'stream' | 'whole'
  readonly inputTokens: number
  readonly price: Price
  readonly factorPpm: number
}

export type Ask =
  | { readonly kind: 'hold'; readonly terms: Terms }
  | { readonly kind: 'extend'; readonly remaining: number }
  | { readonly kind: 'mark'; readonly input: number; readonly output: number }
  | { readonly kind: 'settle'; readonly usage: Usage | null }

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
