/** What the thread of a node's local journal is told, and what it tells. */

import type { StoreFailure } from '../messages.ts'

export interface LocalMark {
  readonly id: string
  readonly input: number
  readonly output: number
}

/** A settlement that waits: `body` is JSON of its owner's. */
export interface LocalSettlement {
  readonly id: string
  readonly body: string
}

/** One line to write: a mark, a settlement, or ids whose lines are not needed any more. */
export type LocalLine =
  | readonly ['mark', id: string, input: number, output: number]
  | readonly ['settle', id: string, body: string]
  | readonly ['forget', id: string]
  | readonly ['fact', name: string, value: string]

export interface LocalContent {
  readonly facts: ReadonlyMap<string, string>
  readonly marks: readonly LocalMark[]
  readonly settlements: readonly LocalSettlement[]
}

export type LocalReply =
  | { readonly kind: 'content'; readonly content: LocalContent }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'written' }
  | { readonly kind: 'failed'; readonly failure: StoreFailure }

export type LocalOrder =
  | { readonly kind: 'write'; readonly lines: readonly LocalLine[] }
  | { readonly kind: 'close' }
