/** The end of the line to a worker on a node of a cluster: everything is answered when its batch holds. */
import type { MessagePort } from 'node:worker_threads'
import type { Ask } from '../messages.ts'
import { WorkerLine, type LineDuties } from '../worker-line.ts'
import type { SharedAuthority } from './shared-authority.ts'

export class NodeLine extends WorkerLine {
  readonly #authority: SharedAuthority
  /** Requests whose hold this worker has: when it is gone, they are ended for it. */
  readonly #open = new Set<string>()
  /** Extensions that are waited for. A call's number is soon that of another, so none may be answered twice. */
  readonly #extending = new Set<{ readonly call: number }>()
  #isClosed = false

  constructor(port: MessagePort, authority: SharedAuthority, duties: LineDuties) {
    super(port, duties)
    this.#authority = authority
  }

  durable(): void {
    // Whatever is answered holds already.
  }

  fail(): void {
    for (const { call } of this.#extending) this.refuse(call, 'service_unavailable')
    this.#extending.clear()
  }

  /** The worker is gone: its requests end at their last marks, and nobody waits for it. */
  override close(): void {
    this.#isClosed = true
    for (const id of this.#open) this.#authority.expire(id)
    this.#open.clear()
    super.close()
  }

  protected take(ask: Ask): void {
    switch (ask.kind) {
      case 'hold':
        return void this.#hold(ask)
      case 'extend': {
        const asked = { call: ask.call }
        this.#extending.add(asked)
        return this.#authority.extend(ask.id, ask.remaining, (result) => {
          if (this.#extending.delete(asked)) this.say({ kind: 'answer', call: ask.call, result })
        })
      }
      case 'mark':
        return void this.#mark(ask)
      case 'settle': {
        this.#open.delete(ask.ask.id)
        return this.#authority.settle(ask.ask, this.keptFor(ask.ask.id), (charge) =>
          this.say({ kind: 'answer', call: ask.call, result: charge.toString() }),
        )
      }
      case 'refused':
        return this.#authority.refused(ask.id, ask.keyId, ask.outcome)
      case 'need':
    }
  }

  async #hold({ call, ask }: Ask & { kind: 'hold' }): Promise<void> {
    const answer = await this.#authority.hold(ask)
    if (answer.granted) {
      // The worker that asked may be gone by now.
      if (this.#isClosed) return this.#authority.expire(ask.id)
      this.#open.add(ask.id)
      this.duties.keyUse.note(ask.keyId)
      this.duties.health.admitted()
    }
    this.say({ kind: 'answer', call, result: answer })
  }

  async #mark({ call, id, input, output }: Ask & { kind: 'mark' }): Promise<void> {
    try {
      await this.#authority.mark(id, input, output)
      this.say({ kind: 'answer', call, result: undefined })
    } catch {
      this.refuse(call, 'service_unavailable')
    }
  }
}
