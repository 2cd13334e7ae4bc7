import { isMainThread } from 'node:worker_threads'

/** False in threads and processes that a test starts: they may inherit what is preloaded into the runner's workers. */
export const isTestProcess: boolean =
  isMainThread && /(?:\.(?:test|long)\.tsx?|\/runner\/test-worker\.ts)$/.test(process.argv[1] ?? '')
