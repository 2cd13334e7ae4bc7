/**
 * A complete relay as a process of its own, for files with `// @relay process – <reason>`: it can be killed, gets
 * signals, and preloads modules.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import { currentTestFile } from '../runner/current-test-file.ts'
import { needsProcess } from '../runner/test-headers.ts'
import { startRelay, type RelayProcess } from './relay-process.ts'
import { serverForFile, serverForTest, TestServer, type TestServerSettings } from './test-server.ts'

export type ServerProcess = TestServer<RelayProcess>

function assertHeader(): void {
  assert.ok(needsProcess(currentTestFile()), 'Write `// @relay process – <reason>` at the top of the file.')
}

/** Starts a relay for one test and closes it afterwards, even if the test fails. */
export function startServerProcess(
  t: TestContext,
  settings: TestServerSettings = {},
): Promise<ServerProcess> {
  assertHeader()
  return serverForTest(t, settings, startRelay)
}

/** Starts one relay for all tests of a file, as `sharedTestServer` does, and closes it after the last one. */
export function sharedServerProcess(settings: TestServerSettings = {}): Promise<ServerProcess> {
  assertHeader()
  return serverForFile(settings, startRelay)
}

/** The server of a relay that the test has started itself. */
export function serverOf(relay: RelayProcess, settings: TestServerSettings = {}): ServerProcess {
  return new TestServer(relay, settings, startRelay)
}
