/**
 * Preloaded into each process of tests: a test that fails half-way may leave a server open, and the process would never
 * end. The runner's own `forceExit` does not wait until every result is reported, and lost some in files with many
 * tests.
 */
import { after } from 'node:test'

import { isTestProcess } from './is-test-process.ts'

const graceMs = 2000

if (isTestProcess) after(() => void setTimeout(() => process.exit(), graceMs).unref())
