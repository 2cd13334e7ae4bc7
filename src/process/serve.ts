/**
 * `sluice serve`: one relay as a program, which logs to standard output, runs until a signal stops it, and reports
 * failures by its exit code.
 */
import type { Environment } from '../config.ts'
import { collectGarbageOfAllThreads } from '../lib/idle-garbage-collection.ts'
import { openStandardOutput } from '../lib/log.ts'
import { openRelay, type OpenRelay } from './open-relay.ts'
import { handleSignals } from './signals.ts'
import { printStart } from './startup-banner.ts'

/** Runs until a signal ends the process. Rejects if the relay cannot start. */
export async function serve(environment: Environment): Promise<void> {
  const signals = handleSignals()
  const hangups = handleHangups()
  let stopped: Promise<void> | undefined
  const relay = await openRelay(environment, {
    log: openStandardOutput(),
    onFatal: () => process.exit(1),
    // A signal from then on must start a drain.
    beforeServing: () => void (stopped = signals()),
    showsSetupLink: process.stdout.isTTY,
  })
  hangups.onOpen(relay)
  printStart(relay)
  collectGarbageOfAllThreads()
  await stopped
  await relay.close()
  // The thread that waits for the file system would be waited for.
  if (relay.isStuck) process.kill(process.pid, 'SIGKILL')
  process.exit(0)
}

/** SIGHUP, which programs that rotate logs and terminals that close send too, reloads and never ends the relay. */
function handleHangups() {
  let relay: OpenRelay | undefined
  let isPending = false
  process.on('SIGHUP', () => {
    if (relay === undefined) isPending = true
    else relay.reloadCertificate()
  })
  return {
    onOpen(opened: OpenRelay): void {
      relay = opened
      if (isPending) opened.reloadCertificate()
    },
  }
}
