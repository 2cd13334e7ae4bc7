/**
 * Which nodes have sent no heartbeat for how long, as this node has observed. Time in which it could not look, because
 * the database was unavailable or it was frozen itself, says nothing about the others. Clocks are not compared: a
 * heartbeat is a changed value.
 */

/** What a node's last heartbeat wrote. */
export interface LastHeartbeat {
  readonly id: string
  readonly seenAt: number
}

/** Between two observations at most this much silence is counted: nodes send a heartbeat every two seconds. */
const maxStepMs = 5000

interface Silence extends LastHeartbeat {
  readonly silentMs: number
}

export class SilentNodes {
  #silences = new Map<string, Silence>()
  #observedAt: number | null = null

  /** `running`: the nodes that should send heartbeats. `at`: of a monotonic clock, in milliseconds. */
  observe(running: readonly LastHeartbeat[], at: number): void {
    const stepMs = Math.min(at - (this.#observedAt ?? at), maxStepMs)
    this.#observedAt = at
    const observed = running.map(({ id, seenAt }): [string, Silence] => {
      const before = this.#silences.get(id)
      const silentMs = before?.seenAt === seenAt ? before.silentMs + stepMs : 0
      return [id, { id, seenAt, silentMs }]
    })
    this.#silences = new Map(observed)
  }

  /** The nodes that have been silent for this long. */
  silentFor(durationMs: number): LastHeartbeat[] {
    return [...this.#silences.values()].filter(({ silentMs }) => silentMs >= durationMs)
  }
}
