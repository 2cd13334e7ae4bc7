/** What several test files of one process share, such as a database server or a browser, ends after the last of them. */
import { after } from 'node:test'

import { isWorker } from './current-test-file.ts'

type Close = () => Promise<void> | void

const closings: Close[] = []

/** Runs after all test files of this process; where a file runs without the runner, after its last test. */
export function afterAllFiles(close: Close): void {
  if (isWorker()) closings.push(close)
  else after(close)
}

/** Called by the runner's worker. */
export async function closeShared(): Promise<void> {
  for (const close of closings.splice(0).toReversed()) await close()
}
