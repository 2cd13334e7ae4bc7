/**
 * Loaded ahead of each file of tests: a file whose test failed half-way may leave a server open, and would never end. Not by
 * the runner's own `forceExit`, which does not wait until everything is told: of a file of many tests some were lost.
 */
import { after } from 'node:test'
import { isMainThread } from 'node:worker_threads'

const graceMs = 2000

// Threads inherit what is loaded ahead.
if (isMainThread) after(() => void setTimeout(() => process.exit(), graceMs).unref())
