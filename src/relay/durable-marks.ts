/**
 * Marks in the ledger of how far a response has come. If the relay crashes, it is charged up to the last durable mark.
 */
import type { LedgerClient } from './ledger-client.ts'
import type { RelayContext } from './request-context.ts'

/** The tokens between two marks: few enough that no event of a stream waits for a mark. */
const markIntervalTokens = 24

export interface DurableMarksListener {
  /** A mark is durable. */
  onMarked(): void
  /** The store does not accept commits. */
  onStoreFailed(): void
}

export class DurableMarks {
  readonly #ledger: LedgerClient
  readonly #context: RelayContext
  readonly #listener: DurableMarksListener
  #requested = 0
  #received = 0
  #isMarking = false
  #isStopped = false
  /** Output tokens up to the last durable mark. */
  tokens = 0

  constructor(ledger: LedgerClient, context: RelayContext, listener: DurableMarksListener) {
    this.#ledger = ledger
    this.#context = context
    this.#listener = listener
  }

  /** Call with the output tokens received so far. */
  receive(tokens: number): void {
    this.#received = tokens
    if (this.#isMarking || tokens === 0) return
    if (this.#requested === 0 || tokens - this.#requested >= markIntervalTokens) this.#mark(tokens)
  }

  /** Requests no more marks. */
  stop(): void {
    this.#isStopped = true
  }

  #mark(tokens: number): void {
    this.#isMarking = true
    this.#requested = tokens
    const { id, request } = this.#context
    this.#ledger.mark(id, request.inputTokens(), tokens).then(
      () => {
        if (this.#isStopped) return
        this.#isMarking = false
        this.tokens = tokens
        this.receive(this.#received)
        this.#listener.onMarked()
      },
      () => this.#listener.onStoreFailed(),
    )
  }
}

/** Nothing waits for these marks, and the settlement finds out that the store has failed. */
const unawaited: DurableMarksListener = { onMarked: () => undefined, onStoreFailed: () => undefined }

/** Marks how far a response has come that is being collected. To be called with the output tokens received so far. */
export function markCollected(ledger: LedgerClient, context: RelayContext): (tokens: number) => void {
  const marks = new DurableMarks(ledger, context, unawaited)
  return (tokens) => marks.receive(tokens)
}
