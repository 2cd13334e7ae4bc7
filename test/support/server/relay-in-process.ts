/**
 * The relay in the test's own process: a start costs a fraction of a child process's. What the operating system does to
 * a process, such as signals, kills and preloaded modules, needs relay-process.ts.
 */
import { openRelay, type OpenRelay } from '../../../src/process/open-relay.ts'
import { completeSettings, Relay, type Exit, type RelaySettings } from './relay.ts'

/** Variables that Node.js reads once for a process, or that only preloaded modules read. */
const processVariables = ['NODE_OPTIONS', 'CLOCK_AHEAD_MS', 'CLOCK_AHEAD_FILE']

export class RelayInProcess extends Relay {
  #opened: OpenRelay | undefined

  /** Opens a relay and waits until it serves. */
  static async open(given: RelaySettings): Promise<RelayInProcess> {
    const settings = await completeSettings(given)
    const relay = new RelayInProcess(settings, settings.port)
    await relay.#open()
    return relay
  }

  get isRunning(): boolean {
    return this.#opened !== undefined
  }

  async #open(): Promise<void> {
    const unsuitable = processVariables.filter((name) => name in this.env)
    if (unsuitable.length > 0)
      throw new Error(
        `${unsuitable.join(', ')}: only for a relay in a process of its own (sharedServerProcess)`,
      )
    this.#opened = await openRelay(this.env, {
      log: { write: (text) => void this.lines.push(...text.split('\n').slice(0, -1)) },
      onFatal(why) {
        // Fails the test that is running.
        process.nextTick(() => {
          throw new Error(`The relay failed: ${why}`)
        })
      },
    })
  }

  async stop(): Promise<Exit> {
    const opened = this.#opened
    this.#opened = undefined
    await opened?.close()
    return { code: 0, signal: null }
  }
}
