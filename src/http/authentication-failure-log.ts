/** Samples failed authentication for the log, so that guessing keys is visible and cannot fill the disk. */

const windowMs = 60_000
/** The metric counts all failures. */
const maxLinesPerWindow = 20

export class AuthenticationFailureLog {
  readonly #writeLine: (network: string) => void
  readonly #networks = new Set<string>()
  #windowEndsMs = 0

  constructor(writeLine: (network: string) => void) {
    this.#writeLine = writeLine
  }

  /** Writes at most one line per network and minute, and a bounded number for all networks. */
  record(network: string, nowMs: number = performance.now()): void {
    if (nowMs >= this.#windowEndsMs) {
      this.#networks.clear()
      this.#windowEndsMs = nowMs + windowMs
    }
    if (this.#networks.size >= maxLinesPerWindow || this.#networks.has(network)) return
    this.#networks.add(network)
    this.#writeLine(network)
  }
}
