/** Measures what each test file uses, in the process that runs it. Preloaded, so that it sees every child process. */
import { subscribe } from 'node:diagnostics_channel'
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { isTestProcess } from './is-test-process.ts'

/** What one run of a test file used. */
export interface FileUsage {
  /** The path of the test file. */
  readonly file: string
  /** CPU time in its process, and of all processes that ended and that it waited for. */
  readonly cpuMs: number
  /** How many relays it started as processes. */
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
const started = { relays: 0, others: 0 }
let recorded = { cpuMs: 0, relays: 0, others: 0 }
let files = 0

/** Writes what was used since the last file, or since the process started, to the folder of the run. */
export function recordUsage(file: string): void {
  // An interrupted run has removed the folder.
  if (folder === undefined || !existsSync(folder)) return
  const total = { cpuMs: cpuTimeMs(), ...started }
  const usage: FileUsage = {
    file,
    cpuMs: total.cpuMs - recorded.cpuMs,
    relays: total.relays - recorded.relays,
    others: total.others - recorded.others,
  }
  recorded = total
  files += 1
  writeFileSync(join(folder, `usage-${process.pid}-${files}.json`), JSON.stringify(usage))
}

if (isTestProcess) {
  subscribe('child_process', (message) => {
    const { process: child } = message as {
      process: { once: (event: string, run: () => void) => void; spawnargs: string[] }
    }
    child.once('spawn', () => {
      if (child.spawnargs.includes('serve')) started.relays += 1
      else started.others += 1
    })
  })
}
