/** The messages between the nodes of a cluster that may be lost. */

/** Each message has the fields of one kind. Any client of the database can send one, so nothing in it is certain. */
export interface BroadcastMessage {
  /** The sender has just connected, and asks the others for what they know. */
  readonly isNew?: unknown
  /** Changed circuits (circuit-broadcast.ts). */
  readonly news?: unknown
  /** The report of an inconsistent ledger (ledger-alert-broadcast.ts). */
  readonly distrust?: unknown
  /** Circuit keys of upstreams that are in use (traffic-broadcast.ts). */
  readonly inUse?: unknown
}

interface BroadcastListener {
  onMessage(message: BroadcastMessage): void
}

/** Each listener takes the fields that it knows. */
export function receiveBroadcast(text: string, listeners: readonly (BroadcastListener | undefined)[]): void {
  for (const listener of listeners) {
    try {
      const message: unknown = JSON.parse(text)
      if (typeof message === 'object' && message !== null) listener?.onMessage(message)
    } catch {
      // It is not of this program, or another release may use another format.
    }
  }
}
