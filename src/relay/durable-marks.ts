/**
 * Marks in the ledger of how far a response has come. If the relay crashes, it is charged up to the last durable mark.
 * A commit costs the same however many marks it contains, so the streams of a thread are marked together.
 */
import { SlotMap } from '../lib/slot-map.ts'
import type { LedgerClient } from './ledger-client.ts'
import type { RelayContext } from './request-context.ts'

/** The tokens between two marks: few enough that no event of a stream waits for a mark. */
const markIntervalTokens = 32
/** A stream with at least this many tokens after its last mark is marked together with another one. */
const minTokensForSharedMark = 12

export interface DurableMarksListener {
  /** A mark is durable. */
  onMarked(): void
  /** The store does not accept commits. */
  onStoreFailed(): void
}

/** The streams that are marked together. */
interface MarkGroup {
  readonly streams: SlotMap<DurableMarks>
  isMarking: boolean
}

const groups = new WeakMap<LedgerClient, MarkGroup>()

function groupOf(ledger: LedgerClient): MarkGroup {
  const group = groups.get(ledger) ?? { streams: new SlotMap(), isMarking: false }
  groups.set(ledger, group)
  return group
}

export class DurableMarks {
  readonly #ledger: LedgerClient
  readonly #context: RelayContext
  readonly #listener: DurableMarksListener
  readonly #group: MarkGroup
  /** Its key among the streams of the group. */
  #groupKey: number | null = null
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
    this.#group = groupOf(ledger)
  }

  /** Call with the output tokens received so far. */
  receive(tokens: number): void {
    this.#received = tokens
    if (this.#isMarking || tokens === 0) return
    if (this.#requested === 0) this.#mark()
    else if (tokens - this.#requested >= markIntervalTokens) this.#markWithOthers()
  }

  /** From now on it is marked when another stream is. */
  shareMarks(): this {
    this.#groupKey = this.#group.streams.insert(this)
    return this
  }

  /** Requests no more marks. */
  stop(): void {
    this.#isStopped = true
    if (this.#groupKey !== null) this.#group.streams.remove(this.#groupKey)
  }

  /** Others join once for each commit, so that many streams do not search each other all the time. */
  #markWithOthers(): void {
    const group = this.#group
    this.#mark()
    if (group.isMarking) return
    group.isMarking = true
    for (const stream of group.streams) {
      if (!stream.#isMarking && stream.#received - stream.#requested >= minTokensForSharedMark) stream.#mark()
    }
  }

  #mark(): void {
    const { id, request } = this.#context
    const tokens = this.#received
    this.#isMarking = true
    this.#requested = tokens
    this.#ledger.mark(id, request.inputTokens(), tokens).then(
      () => {
        this.#group.isMarking = false
        if (this.#isStopped) return
        this.#isMarking = false
        this.tokens = tokens
        this.receive(this.#received)
        this.#listener.onMarked()
      },
      () => {
        this.#group.isMarking = false
        this.#listener.onStoreFailed()
      },
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
