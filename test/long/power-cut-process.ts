/**
 * Runs power cuts and prints one line of JSON for each. Run it in its own namespaces:
 *
 *   unshare --mount --pid --fork --kill-child --mount-proc node test/long/power-cut-process.ts relay 10 [seed]     a relay under load
 *   unshare --mount --pid --fork --kill-child --mount-proc node test/long/power-cut-process.ts full 3 [seed]       a plain database with this `synchronous`
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'

import { Prng } from '../../sim/prng.ts'
import { PowerDisk, type PowerCutResult } from '../../sim/power-cut.ts'
import { prepareCrashServer, runCrashTrial } from './crash-trials.ts'
import { TestServer } from '../support/server/test-server.ts'
import { startRelay } from '../support/server/relay-process.ts'
import { scriptedDelay } from '../support/wait.ts'

const commitLoop = fileURLToPath(new URL('../../sim/commit-loop.ts', import.meta.url))
const [, , what = 'relay', count = '10', seedText = String(Date.now() % 1_000_000)] = process.argv
const seed = Number(seedText)
const random = new Prng(seed)

const print = (line: object): void => console.log(JSON.stringify(line))

/** A relay with 64 open streams whose clients and upstream record everything; then the power cut, then the comparison. */
async function relayTrials(disk: PowerDisk): Promise<void> {
  const env = { WORKERS: '2' }
  const server = new TestServer(await startRelay({ dataDir: join(disk.files, 'data'), env }), { env })
  try {
    const meter = await prepareCrashServer(server)
    for (let trial = 0; trial < Number(count); trial += 1) {
      let cut: PowerCutResult | null = null
      const power = {
        cut: () => disk.cutPower(),
        restore: async () => void (cut = await disk.restorePower()),
      }
      const outcome = await runCrashTrial(server, meter, power, random.between(50, 1500))
      print({ trial, ...outcome, cut })
    }
  } finally {
    await server.close()
  }
}

/** Counts commits that were acknowledged and lost. */
async function databaseTrials(disk: PowerDisk, synchronous: string): Promise<void> {
  const path = join(disk.files, 'some.db')
  for (let trial = 0; trial < Number(count); trial += 1) {
    const loop = spawn(process.execPath, [commitLoop, path, synchronous], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    loop.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
    await once(loop.stdout, 'data')
    await scriptedDelay(random.between(100, 500))
    // The last line may be incomplete.
    const committed = Number(text.split('\n').at(-2))
    disk.cutPower()
    loop.kill('SIGKILL')
    await once(loop, 'close')
    const cut = await disk.restorePower()
    const database = new DatabaseSync(path)
    const check = database.prepare('pragma integrity_check').get()?.['integrity_check']
    const kept = Number(
      database.prepare(`select count(*) as kept from sqlite_schema where name = 'numbers'`).get()?.[
        'kept'
      ] === 0
        ? 0
        : database.prepare('select max(number) as kept from numbers').get()?.['kept'],
    )
    database.close()
    print({ trial, committed, kept, lost: Math.max(0, committed - kept), check, cut })
  }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-power-'))
const disk = new PowerDisk(folder, seed)
try {
  disk.powerOn()
  print({ seed })
  await (what === 'relay' ? relayTrials(disk) : databaseTrials(disk, what))
} finally {
  await disk.remove()
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}
