/** The messages between a node and the thread of its local journal. */

import type { StoreFailure } from '../store-error.ts'

export interface LocalMark {
  readonly id: string
  readonly input: number
  readonly output: number
}

/** A settlement that the database has not accepted yet; `body` is JSON of its owner. */
export interface LocalSettlement {
  readonly id: string
  readonly body: string
}

/** One record to write: a mark, a settlement, a fact, or an id whose records are no longer needed. */
export type LocalJournalRecord =
  | readonly ['mark', id: string, input: number, output: number]
  | readonly ['settle', id: string, body: string]
  | readonly ['forget', id: string]
  | readonly ['fact', name: string, value: string]

export interface LocalJournalContents {
  readonly facts: ReadonlyMap<string, string>
  readonly marks: readonly LocalMark[]
  readonly settlements: readonly LocalSettlement[]
}

export type LocalJournalResponse =
  | { readonly kind: 'opened'; readonly content: LocalJournalContents }
  | { readonly kind: 'openFailed'; readonly message: string }
  | { readonly kind: 'written' }
  | { readonly kind: 'failed'; readonly failure: StoreFailure }

export type LocalJournalRequest =
  | { readonly kind: 'write'; readonly lines: readonly LocalJournalRecord[] }
  | { readonly kind: 'close' }
