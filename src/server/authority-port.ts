/**
 * The authority's end of the line to one worker: what arrives is decided at once; answers that have to be durable wait
 * here for their commit, and all that a commit sets free travels as one message.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Authority } from './ledger/authority.ts'
import type { CommitQueue } from './ledger/commit-queue.ts'
import type { SettleAsk } from '../relay/ledger-client.ts'
import type { Ask, Committed, Word } from './messages.ts'
import { WorkerLine, type LineDuties } from './worker-line.ts'

interface Waiting {
  readonly call: number
  readonly commit: number
  readonly result: unknown
}

export class AuthorityPort extends WorkerLine {
  readonly #authority: Authority
  readonly #commits: CommitQueue
  /** Requests whose hold this worker has: when it is gone, they are ended for it. */
  readonly #open = new Set<string>()
  #waiting: Waiting[] = []
  /** A hold was answered whose commit is not yet on disk. */
  #awaited = 0

  constructor(
    port: MessagePort,
    decides: { authority: Authority; commits: CommitQueue },
    duties: LineDuties,
  ) {
    super(port, duties)
    this.#authority = decides.authority
    this.#commits = decides.commits
  }

  durable(commit: number): void {
    const still: Waiting[] = []
    const words: Word[] = []
    for (const waiting of this.#waiting) {
      if (waiting.commit > commit) still.push(waiting)
      else words.push({ kind: 'answer', call: waiting.call, result: waiting.result })
    }
    this.#waiting = still
    if (this.#awaited > 0) words.push({ kind: 'durable', commit })
    if (this.#awaited <= commit) this.#awaited = 0
    if (words.length > 0) this.sayNow(words)
  }

  fail(): void {
    for (const { call } of this.#waiting) this.refuse(call, 'service_unavailable')
    this.#waiting = []
  }

  /** The worker is gone: its requests end at their last marks, and nobody waits for it. */
  override close(): void {
    for (const id of this.#open) this.#authority.expire(id)
    this.#open.clear()
    super.close()
  }

  protected take(ask: Ask): void {
    const authority = this.#authority
    switch (ask.kind) {
      case 'hold': {
        const answer = authority.hold(ask.ask)
        if (answer.granted) {
          this.#open.add(ask.ask.id)
          this.duties.keyUse.note(ask.ask.keyId)
          this.duties.health.admitted()
          this.#awaited = Math.max(this.#awaited, answer.commit)
        } else if (answer.lookAgain !== undefined) {
          return this.#answer(ask.call, { commit: answer.lookAgain, result: answer })
        }
        return this.say({ kind: 'answer', call: ask.call, result: answer })
      }
      case 'extend':
        return this.#answer(ask.call, authority.extend(ask.id, ask.remaining))
      case 'mark':
        return this.#answer(ask.call, authority.mark(ask.id, ask.input, ask.output))
      case 'settle':
        return this.#settle(ask.call, ask.ask)
      case 'refused':
        return authority.refused(ask.id, ask.keyId, ask.outcome)
      case 'need':
        return this.#commits.need(ask.commit)
    }
  }

  #settle(call: number, ask: SettleAsk): void {
    this.#open.delete(ask.id)
    const { commit, result } = this.#authority.settle(ask, this.keptFor(ask.id))
    this.#answer(call, { commit, result: result.toString() })
  }

  /** Answers when the commit is on disk. */
  #answer(call: number, { commit, result }: Committed<unknown>): void {
    if (commit <= this.#commits.durable) this.say({ kind: 'answer', call, result })
    else {
      this.#waiting.push({ call, commit, result })
      this.#commits.need(commit)
    }
  }
}
