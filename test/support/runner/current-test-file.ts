/** The test file that runs in this process: a worker of the runner runs one file after another. */

let current: string | undefined

/** Runs one test file; no other may run in this process meanwhile. */
export async function runAsTestFile(path: string, run: () => Promise<unknown>): Promise<void> {
  current = path
  await run()
}

/** Whether this process is a worker of the runner. */
export function isWorker(): boolean {
  return current !== undefined
}

/** The path of the test file. Without the runner's worker, it is the program that Node.js was started with. */
export function currentTestFile(): string {
  return current ?? process.argv[1] ?? ''
}
