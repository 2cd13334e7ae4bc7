// @backend sqlite – the disk of the embedded database
// @suite all – starts a relay for each test
/** `sluice doctor` on a full disk, with the relay running and stopped. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { commandLineFor, type CommandLine } from '../../support/server/command-line.ts'
import { startRelay } from '../../support/server/relay-process.ts'
import { fillDisk, mountSmallDisk } from '../../support/server/small-disk.ts'

interface Diagnosis {
  readonly findings: readonly { name: string; state: string; detail: string }[]
}

async function assertOneFinding(sluice: CommandLine): Promise<void> {
  const { code, output } = await sluice.run(['doctor', '--json'])
  const { findings } = JSON.parse(output) as Diagnosis
  const problems = findings.filter(({ state }) => state === 'fail')
  assert.deepEqual([code, problems.map(({ name }) => name)], [1, ['free space']], output)
  assert.match(problems[0]?.detail ?? '', /is full \(ENOSPC\)$/)
  assert.ok(findings.some(({ name, state }) => name === 'relay' && state === 'ok'))
  assert.ok(findings.some(({ name }) => name === 'database'))
}

describe('sluice doctor on a full disk', () => {
  test('Full disk – is one finding, and the other checks are made', async (t) => {
    const disk = mountSmallDisk(t)
    if (disk === null) return t.skip('requires the right to mount a file system')
    const relay = await startRelay({ dataDir: join(disk, 'data') })
    t.after(() => relay.kill())
    const sluice = commandLineFor(relay)
    fillDisk(disk)
    await assertOneFinding(sluice)
    await relay.kill()
    await assertOneFinding(sluice)
    assert.match((await sluice.run(['doctor'])).output, /^fail +free space .*\n +→ Free disk space/m)
  })
})
