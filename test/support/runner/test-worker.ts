/**
 * A process of the runner: runs the test files of a queue one after another, each as one test whose subtests are those
 * of the file. Loading the product's modules, and compiling their hot code, then happens once for many files.
 */
import { test } from 'node:test'

import { closeShared } from './after-all-files.ts'
import { runAsTestFile } from './current-test-file.ts'
import { readQueue, takeFile } from './file-queue.ts'
import { recordUsage } from './report-usage.ts'

/** Modules of finished files stay in memory. Another process goes on when this one has more. */
const maxResidentBytes = 1.5 * 2 ** 30

const queue = readQueue(process.env['TEST_QUEUE'] ?? '')

// One test around them all, because node:test takes a process for finished as soon as it has no test.
await test('files', async (files) => {
  while (process.memoryUsage.rss() < maxResidentBytes) {
    const path = takeFile(queue)
    if (path === undefined) break
    // A test waits for its subtests, so this resolves when all tests of the file have ended.
    await files.test(path, { timeout: queue.timeoutMs }, () => runAsTestFile(path, () => import(path)))
    recordUsage(path)
  }
  await closeShared()
})
