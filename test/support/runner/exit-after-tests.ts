/**
 * Preloaded into each test file: a test that fails half-way may leave a server open, and the file would never end. The
 * runner's own `forceExit` does not wait until every result is reported, and lost some in files with many tests.
 */
import { after } from 'node:test'

import { isTestFile } from './is-test-file.ts'

const graceMs = 2000

if (isTestFile) after(() => void setTimeout(() => process.exit(), graceMs).unref())
