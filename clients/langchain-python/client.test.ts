// @suite all – runs a client
// @drives a client
/** LangChain for Python, unchanged: runs test_standard.py, its own standard tests among them. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { assertCharged, replyObligingly, startAgentTestServer } from '../agent-test-server.ts'
import { execute, image } from '../client-program.ts'
import { readSamples } from '../guide-samples.ts'
import type { ClientTestServer } from '../test-server.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const python = `${folder}.venv/bin/python`
const skip = existsSync(python) ? false : 'not installed (.ci/run installs the locked versions in clients/)'
const timeoutMs = 300_000

/** The test classes in test_standard.py, by title. */
const subjects: Readonly<Record<string, string>> = {
  'ChatOpenAI, other': 'TestOpenAIOther',
  'ChatOpenAI, claude': 'TestOpenAIClaude',
  'ChatOpenAI with the Responses API, other': 'TestResponsesOther',
  'ChatOpenAI with the Responses API, claude': 'TestResponsesClaude',
  'ChatAnthropic, other': 'TestAnthropicOther',
  'ChatAnthropic, claude': 'TestAnthropicClaude',
  OpenAIEmbeddings: 'TestEmbeddings',
}

/** A line that conftest.py prints. */
interface Report {
  readonly name: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  readonly text: string
}

/** Runs all tests at once, since importing LangChain takes longer than they do. */
async function runTests({ server, rich, poor, limited }: ClientTestServer): Promise<Report[]> {
  const sockets = ['--disable-socket', '--allow-hosts=127.0.0.1']
  const options = [
    '-q',
    '-p',
    'no:cacheprovider',
    '-o',
    'asyncio_mode=auto',
    '-o',
    'asyncio_default_test_loop_scope=session',
    '--tb=short',
    ...sockets,
  ]
  const child = spawn(python, ['-m', 'pytest', ...options, 'test_standard.py'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: timeoutMs,
    env: {
      SLUICE_URL: server.url,
      RICH: rich.key.secret,
      POOR: poor.key.secret,
      LIMITED: limited.key.secret,
      NOBODY: 'sk-nobody',
      IMAGE: image,
    },
  })
  const closed = once(child, 'close') as Promise<[number | null]>
  const reports: Report[] = []
  const others: string[] = []
  for await (const line of createInterface(child.stdout)) {
    const start = line.indexOf('{"name"')
    if (start === -1) others.push(line)
    else reports.push(JSON.parse(line.slice(start)) as Report)
  }
  const [exitCode] = await closed
  // 1: a test failed.
  assert.ok(exitCode === 0 || exitCode === 1, others.join('\n'))
  return reports
}

describe('LangChain for Python', () => {
  test('LangChain for Python – works unchanged', { skip }, async (t) => {
    const context = await startAgentTestServer(t, replyObligingly)
    await t.test('Samples of the guide – print the response', async () => {
      for (const sample of readSamples('langchain', context.server.url, 'claude-agent'))
        assert.equal(await execute([python, '-c', sample], context.rich.key.secret), 'Hello, world!')
    })
    const reports = await runTests(context)
    for (const [title, name] of Object.entries(subjects)) {
      await t.test(`${title}: Standard tests – pass`, (t) => {
        const own = reports.filter((report) => report.name.startsWith(`${name}::`))
        const failures = own.filter(({ outcome }) => outcome === 'failed')
        assert.deepEqual(
          failures.map((report) => `${report.name}\n${report.text}`),
          [],
        )
        const minPassed = name === 'TestEmbeddings' ? 6 : 31
        assert.ok(own.filter(({ outcome }) => outcome === 'passed').length >= minPassed)
        for (const { name: left, outcome, text } of own)
          if (outcome !== 'passed') t.diagnostic(`${left} ${outcome}: ${text}`)
      })
    }
    await assertCharged(context)
  })
})
