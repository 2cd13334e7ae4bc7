import { isMainThread } from 'node:worker_threads'

/** False in threads and processes that a test starts: they may inherit what is preloaded into the test file. */
export const isTestFile: boolean = isMainThread && /\.(?:test|long)\.ts$/.test(process.argv[1] ?? '')
