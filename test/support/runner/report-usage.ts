/** Preloaded into each test file: on exit it writes to TEST_USAGE_DIR what the file used. */
import { subscribe } from 'node:diagnostics_channel'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { isTestFile } from './is-test-file.ts'

/** What one run of a test file used. */
export interface FileUsage {
  /** The path of the test file. */
  readonly file: string
  /** CPU time of its process and of all processes it waited for. */
  readonly cpuMs: number
  /** How many relays it started. */
  readonly relays: number
  /** How many database servers, browsers and other programs it started. */
  readonly others: number
}

/** Clock ticks per second in /proc: USER_HZ, 100 on every Linux. */
const ticksPerSecond = 100

/** `proc(5)`: fields 14 to 17 of /proc/self/stat, after the name in brackets. */
function cpuTimeMs(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
    return (ticks * 1000) / ticksPerSecond
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
}

/** Reads, and removes, what the files of a run have written to the folder. */
export function readUsage(folder: string): FileUsage[] {
  return globSync(join(folder, 'usage-*.json')).map((path) => {
    const usage = JSON.parse(readFileSync(path, 'utf8')) as FileUsage
    rmSync(path)
    return usage
  })
}

const folder = process.env['TEST_USAGE_DIR']
if (isTestFile && folder !== undefined) {
  let relays = 0
  let others = 0
  subscribe('child_process', (message) => {
    const { process: child } = message as {
      process: { once: (event: string, run: () => void) => void; spawnargs: string[] }
    }
    child.once('spawn', () => {
      if (child.spawnargs.includes('serve')) relays += 1
      else others += 1
    })
  })
  process.once('exit', () => {
    const usage: FileUsage = { file: process.argv[1] ?? '', cpuMs: cpuTimeMs(), relays, others }
    // An interrupted run has removed the folder.
    if (existsSync(folder)) writeFileSync(join(folder, `usage-${process.pid}.json`), JSON.stringify(usage))
  })
}
