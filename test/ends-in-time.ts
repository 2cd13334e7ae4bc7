/**
 * Loaded ahead of each file of tests: a file whose test failed half-way may leave a server open, and would never end. Not by
 * the runner's own `forceExit`, which does not wait until everything is told: of a file of many tests some were lost.
 */
import { after } from 'node:test'
import { isMainThread } from 'node:worker_threads'

const graceMs = 2000

// Threads, and processes that a test starts, may inherit what is loaded ahead.
const isFileOfTests = isMainThread && /\.(?:test|long)\.ts$/.test(process.argv[1] ?? '')
if (isFileOfTests) after(() => void setTimeout(() => process.exit(), graceMs).unref())
