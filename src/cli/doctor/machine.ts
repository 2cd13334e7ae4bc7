/** The doctor's look at the machine: versions, the data directory and its disk, the clock, the port. */

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import { checkSqliteRelease } from '../../db/sqlite/connection.ts'
import { portProblem, statusOf } from '../../server/connection-checks.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const leastFreeBytes = 100 * 1024 ** 2
const enoughFreeBytes = 1024 ** 3

export function checkVersions(): Finding {
  const sqlite = process.versions['sqlite'] ?? 'none'
  const detail = `Node ${process.versions.node}, SQLite ${sqlite}`
  try {
    checkSqliteRelease(sqlite)
    return ok('versions', detail)
  } catch (error) {
    return fail(
      'versions',
      error instanceof Error ? error.message : detail,
      'Use the Node that `npm ci` installs.',
    )
  }
}

/** Rights and owner. The relay makes a directory that is missing. */
export function checkDirectory(dataDir: string): Finding {
  const name = 'data directory'
  if (!existsSync(dataDir)) {
    return warn(
      name,
      `${dataDir} is not there yet`,
      'The first start makes it; or set DATA_DIR to where it is.',
    )
  }
  const { mode, uid } = statSync(dataDir)
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return fail(
      name,
      `${dataDir} may not be written to by this user`,
      'Run sluice as the owner of the directory.',
    )
  }
  const user = process.getuid?.() ?? uid
  if (uid !== user && (mode & 0o002) === 0) return checkForeign(dataDir, { user, owner: uid })
  if ((mode & 0o077) !== 0) {
    const detail = `${dataDir} is open to others (mode ${(mode & 0o777).toString(8)})`
    return warn(name, detail, `chmod 700 ${dataDir}: it holds the database and the key of the credentials.`)
  }
  return ok(name, `${dataDir}, for its owner only`)
}

/**
 * Of a directory that somebody else made and this user may write to, such as a volume of Kubernetes with `fsGroup`, it
 * counts whose the files are: they are read by their owner alone. Root may write anywhere, which says nothing.
 */
function checkForeign(
  dataDir: string,
  { user, owner }: { readonly user: number; readonly owner: number },
): Finding {
  const name = 'data directory'
  const files = readdirSync(dataDir, { withFileTypes: true }).filter((entry) => entry.isFile())
  const owners = files.map((file) => statSync(join(dataDir, file.name), { throwIfNoEntry: false })?.uid)
  const other = owners.find((each) => each !== undefined && each !== user)
  if (other === undefined && (user !== 0 || files.length > 0))
    return ok(name, `${dataDir} of user ${owner}, in which files belong to this user, ${user}`)
  const whose = other === undefined ? `belongs to user ${owner}` : `has files of user ${other}`
  const advice = 'Run sluice as the user whose files they are, or new ones become unreadable to the relay.'
  return warn(name, `${dataDir} ${whose}, and this is user ${user}`, advice)
}

/** Kinds of file systems (statfs(2)) that do not keep what we promise to keep. */
const unfitFileSystems = new Map([
  [0x01021994, { is: 'in memory (tmpfs)', lossy: true }],
  [0x6969, { is: 'on a network (NFS)', lossy: false }],
  [0xfe534d42, { is: 'on a network (SMB)', lossy: false }],
  [0xff534d42, { is: 'on a network (CIFS)', lossy: false }],
])

export function checkSpace(dataDir: string): Finding {
  const name = 'free space'
  const { bavail, bsize, type } = statfsSync(dataDir)
  const free = bavail * bsize
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free in ${dataDir}`
  const unfit = unfitFileSystems.get(type)
  if (unfit?.lossy === true) {
    return warn(
      name,
      `${dataDir} is ${unfit.is}`,
      'Nothing in it outlives the machine: set DATA_DIR to a disk.',
    )
  }
  if (unfit !== undefined) {
    return fail(
      name,
      `${dataDir} is ${unfit.is}`,
      'SQLite is not safe there: set DATA_DIR to a disk of this machine.',
    )
  }
  const advice = 'Make room: without space the relay refuses requests until there is some.'
  if (free < leastFreeBytes) return fail(name, detail, advice)
  return free < enoughFreeBytes ? warn(name, detail, advice) : ok(name, detail)
}

export interface SyncTimes {
  readonly p50: number
  readonly p99: number
  readonly count: number
}

/** Milliseconds that a write of 4 KiB takes until it is on disk: up to 200 times, for two seconds at most. */
export function measureSync(dataDir: string): SyncTimes {
  const path = join(dataDir, `.sync-test-${process.pid}`)
  const file = openSync(path, 'wx', 0o600)
  const page = Buffer.alloc(4096, 1)
  const times: number[] = []
  const end = performance.now() + 2000
  try {
    while (times.length < 200 && performance.now() < end) {
      const started = performance.now()
      writeSync(file, page)
      fdatasyncSync(file)
      times.push(performance.now() - started)
    }
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
  const sorted = times.toSorted((left, right) => left - right)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99), count: times.length }
}

export function checkSync(dataDir: string): Finding {
  const { p50, p99, count } = measureSync(dataDir)
  const detail = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (${count} writes)`
  if (p50 <= 20) return ok('disk sync', detail)
  return warn(
    'disk sync',
    detail,
    'Every answer ends with one of these. A disk with a fast sync (NVMe) shortens it.',
  )
}

const sampleMs = 250
const driftMaxMs = 50
/** When this was written: a clock before that is wrong. */
const writtenMs = Date.UTC(2026, 10, 1)

/** Wall clock against the monotonic one, its date, and the time zones that days and months end by. */
export async function checkClock(lastWrittenMs: number | null): Promise<Finding> {
  const name = 'clock'
  const [wall, monotonic] = [Date.now(), performance.now()]
  await wait(sampleMs)
  const drift = Date.now() - wall - (performance.now() - monotonic)
  const now = new Date().toISOString()
  if (Date.now() < writtenMs)
    return fail(name, `it says ${now}, which is past`, 'Set it, and keep it by NTP.')
  if (lastWrittenMs !== null && lastWrittenMs > Date.now() + 1000) {
    const detail = `it says ${now}, but the ledger was written at ${new Date(lastWrittenMs).toISOString()}`
    return fail(name, detail, 'Set it, and keep it by NTP: days, caps and expiries go by it.')
  }
  if (Math.abs(drift) > driftMaxMs) {
    const detail = `it moved by ${Math.round(drift)} ms against the monotonic clock within ${sampleMs} ms`
    return warn(name, detail, 'Something sets it by steps: let NTP slew it.')
  }
  try {
    new Intl.DateTimeFormat('en', { timeZone: 'Asia/Shanghai' }).format(0)
  } catch {
    return fail(name, 'there is no time zone data', 'Use a Node with full ICU, as `npm ci` installs it.')
  }
  return ok(name, `${now}, time zones ${process.versions['tz'] ?? 'of the system'}`)
}

/** The port: to be had when no relay runs, answering when one does. */
export async function checkPort(config: Config, isRunning: boolean): Promise<Finding> {
  const { host, port } = config
  const name = 'port'
  if (!isRunning) {
    const problem = await portProblem(host, port)
    if (problem === null) return ok(name, `${host} port ${port} is free`)
    return fail(
      name,
      `${host} port ${port} cannot be had (${problem})`,
      'Set HOST and PORT, or stop what uses it.',
    )
  }
  const shown = host.includes(':') ? `[${host}]` : host
  const scheme = config.tlsCertFile === null ? 'http' : 'https'
  const answer = await statusOf(`${scheme}://${shown}:${port}/readyz`, 2000)
  if (answer === 200) return ok(name, `the relay is ready on ${host} port ${port}`)
  const detail = `the relay's /readyz on ${host} port ${port} gives ${answer}`
  return warn(
    name,
    detail,
    'Ask with the HOST and PORT that it was started with; if they are the same, see its log.',
  )
}
