/** Samples failed authentication for the log, so that guessing keys or passwords is visible and cannot fill the disk. */
import { addressNetwork } from '../lib/address-network.ts'

const windowMs = 60_000
const maxLinesPerWindow = 20

export interface AuthenticationFailure {
  readonly network: string
  /** How somebody tried to sign in. */
  readonly method?: string
}

export class AuthenticationFailureLog {
  readonly #writeLine: (failure: AuthenticationFailure) => void
  readonly #written = new Set<string>()
  #windowEndsMs = 0

  constructor(writeLine: (failure: AuthenticationFailure) => void) {
    this.#writeLine = writeLine
  }

  /** Writes at most one line per network, method and minute, and a bounded number for all networks. */
  record(address: string, method?: string, nowMs: number = performance.now()): void {
    if (nowMs >= this.#windowEndsMs) {
      this.#written.clear()
      this.#windowEndsMs = nowMs + windowMs
    }
    const network = addressNetwork(address)
    const name = `${network} ${method}`
    if (this.#written.size >= maxLinesPerWindow || this.#written.has(name)) return
    this.#written.add(name)
    this.#writeLine(method === undefined ? { network } : { network, method })
  }
}
