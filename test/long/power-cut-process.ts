/**
 * Power cuts, one line of JSON each; to be run in namespaces of its own:
 *
 *   unshare --mount --pid --fork --kill-child --mount-proc node test/power-trials.ts relay 10 [seed]     a relay under load
 *   unshare --mount --pid --fork --kill-child --mount-proc node test/power-trials.ts full 3 [seed]       a plain database with this `synchronous`
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { Chance } from '../../sim/prng.ts'
import { PowerDisk, type Cut } from '../../sim/power-cut.ts'
import { crashHouse, crashTrial } from '../crash-trials.ts'
import { House } from '../support/server/test-server.ts'
import { startRelay } from '../support/server/relay-process.ts'

const commitLoop = fileURLToPath(new URL('../../sim/commit-loop.ts', import.meta.url))
const [, , what = 'relay', count = '10', seedText = String(Date.now() % 1_000_000)] = process.argv
const seed = Number(seedText)
const chance = new Chance(seed)

const tell = (line: object): void => console.log(JSON.stringify(line))

/** A relay with 64 streams open, whose callers and whose upstream remember; then the power, then the comparison. */
async function relayTrials(disk: PowerDisk): Promise<void> {
  const env = { WORKERS: '2' }
  const house = new House(await startRelay({ dataDir: join(disk.files, 'data'), env }), { env })
  try {
    const meter = await crashHouse(house)
    for (let trial = 0; trial < Number(count); trial += 1) {
      let cut: Cut | null = null
      const power = { goes: () => disk.goes(), comes: async () => void (cut = await disk.comes()) }
      const outcome = await crashTrial(house, meter, power, chance.between(50, 1500))
      tell({ trial, ...outcome, cut })
    }
  } finally {
    await house.close()
  }
}

/** Commits that were told, and are not there afterwards. */
async function databaseTrials(disk: PowerDisk, synchronous: string): Promise<void> {
  const path = join(disk.files, 'some.db')
  for (let trial = 0; trial < Number(count); trial += 1) {
    const loop = spawn(process.execPath, [commitLoop, path, synchronous], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    loop.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
    await once(loop.stdout, 'data')
    await delay(chance.between(100, 500))
    // The last line may be half a number.
    const told = Number(text.split('\n').at(-2))
    disk.goes()
    loop.kill('SIGKILL')
    await once(loop, 'close')
    const cut = await disk.comes()
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
    tell({ trial, told, kept, lost: Math.max(0, told - kept), check, cut })
  }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-power-'))
const disk = new PowerDisk(folder, seed)
try {
  disk.on()
  tell({ seed })
  await (what === 'relay' ? relayTrials(disk) : databaseTrials(disk, what))
} finally {
  await disk.remove()
  rmSync(folder, { recursive: true, force: true })
}
