/** The doctor's checks of the machine: versions, the data directory and its disk, the clock, the port. */

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
import { errorCode, errorMessage } from '../../lib/error-message.ts'
import { findPortProblem, fetchStatus, fetchText } from '../../process/connection-checks.ts'
import { fail, ok, warn, type Finding } from './finding.ts'

const minFreeBytes = 100 * 1024 ** 2
const comfortableFreeBytes = 1024 ** 3

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
      'Use the Node.js version that `npm ci` installs.',
    )
  }
}

/** Permissions and owner. A missing directory is created by the relay. */
export function checkDirectory(dataDir: string): Finding {
  const name = 'data directory'
  if (!existsSync(dataDir)) {
    return warn(
      name,
      `${dataDir} does not exist yet`,
      'The first start creates it. If it should exist, correct DATA_DIR.',
    )
  }
  const { mode, uid } = statSync(dataDir)
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return fail(name, `${dataDir} is not writable by this user`, 'Run sluice as the owner of the directory.')
  }
  const user = process.getuid?.() ?? uid
  if (uid !== user && (mode & 0o002) === 0) return checkOtherOwner(dataDir, { user, owner: uid })
  if ((mode & 0o077) !== 0) {
    const detail = `${dataDir} is accessible to other users (mode ${(mode & 0o777).toString(8)})`
    return warn(
      name,
      detail,
      `chmod 700 ${dataDir}: it contains the database and the encryption key of the credentials.`,
    )
  }
  return ok(name, `${dataDir}, accessible to its owner only`)
}

/**
 * In a writable directory of another user, such as a Kubernetes volume with `fsGroup`, the files must belong to this
 * user, because only their owner can read them. That root can write to it proves nothing.
 */
function checkOtherOwner(
  dataDir: string,
  { user, owner }: { readonly user: number; readonly owner: number },
): Finding {
  const name = 'data directory'
  const files = readdirSync(dataDir, { withFileTypes: true }).filter((entry) => entry.isFile())
  const owners = files.map((file) => statSync(join(dataDir, file.name), { throwIfNoEntry: false })?.uid)
  const other = owners.find((each) => each !== undefined && each !== user)
  if (other === undefined && (user !== 0 || files.length > 0))
    return ok(name, `${dataDir} belongs to user ${owner}, its files to this user (${user})`)
  const whose = other === undefined ? `belongs to user ${owner}` : `has files of user ${other}`
  const advice = 'Run sluice as the owner of the files. Otherwise the relay cannot read new ones.'
  return warn(name, `${dataDir} ${whose}, but this is user ${user}`, advice)
}

/** No space, over quota, beyond the largest file that is allowed. */
const fullDiskCodes = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** File systems (statfs(2) types) on which data is not safe. */
const unsafeFileSystems = new Map([
  [0x01021994, { description: 'in memory (tmpfs)', lossy: true }],
  [0x6969, { description: 'on a network (NFS)', lossy: false }],
  [0xfe534d42, { description: 'on a network (SMB)', lossy: false }],
  [0xff534d42, { description: 'on a network (CIFS)', lossy: false }],
])

const spaceAdvice = 'Free disk space: on a full disk the relay rejects requests.'

function checkSpace(dataDir: string): Finding {
  const name = 'free space'
  const { bavail, bsize, type } = statfsSync(dataDir)
  const free = bavail * bsize
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free in ${dataDir}`
  const fileSystem = unsafeFileSystems.get(type)
  if (fileSystem?.lossy === true) {
    return warn(
      name,
      `${dataDir} is ${fileSystem.description}`,
      'Its contents are lost at a reboot. Set DATA_DIR to a folder on a disk.',
    )
  }
  if (fileSystem !== undefined) {
    return fail(
      name,
      `${dataDir} is ${fileSystem.description}`,
      'SQLite is not safe there. Set DATA_DIR to a folder on a local disk.',
    )
  }
  if (free < minFreeBytes) return fail(name, detail, spaceAdvice)
  return free < comfortableFreeBytes ? warn(name, detail, spaceAdvice) : ok(name, detail)
}

interface SyncTimes {
  readonly p50: number
  readonly p99: number
  readonly count: number
}

/** The latency in milliseconds of a synced write of 4 KiB, measured up to 200 times in at most two seconds. */
function measureSync(dataDir: string): SyncTimes {
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

function checkSync(dataDir: string): Finding {
  const { p50, p99, count } = measureSync(dataDir)
  const detail = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (${count} writes)`
  if (p50 <= 20) return ok('disk sync', detail)
  return warn(
    'disk sync',
    detail,
    'Every response waits for such a write. A disk with a fast sync (NVMe) reduces latency.',
  )
}

/** Free space and speed; a full disk is a single finding. */
export function checkDisk(dataDir: string): { findings: Finding[]; isFull: boolean } {
  try {
    return { findings: [checkSpace(dataDir), checkSync(dataDir)], isFull: false }
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (!fullDiskCodes.includes(code)) {
      const advice = 'Run sluice as the owner of the directory, on a disk that accepts writes.'
      const detail = `Cannot write to ${dataDir} (${errorMessage(error)})`
      return { findings: [fail('disk', detail, advice)], isFull: false }
    }
    const detail = `The disk of ${dataDir} is full (${code})`
    return { findings: [fail('free space', detail, spaceAdvice)], isFull: true }
  }
}

const probeTimeoutMs = 2000
const sampleMs = 250
const maxDriftMs = 50
/** A clock before this date is wrong. */
const earliestMs = Date.UTC(2026, 10, 1)

/** Checks the wall clock's drift against the monotonic clock, its date, and the time zone data. */
export async function checkClock(lastWrittenMs: number | null): Promise<Finding> {
  const name = 'clock'
  const [wall, monotonic] = [Date.now(), performance.now()]
  await wait(sampleMs)
  const drift = Date.now() - wall - (performance.now() - monotonic)
  const now = new Date().toISOString()
  if (Date.now() < earliestMs)
    return fail(name, `it shows ${now}, which is in the past`, 'Set it, and synchronize it by NTP.')
  if (lastWrittenMs !== null && lastWrittenMs > Date.now() + 1000) {
    const detail = `it shows ${now}, but the ledger was written at ${new Date(lastWrittenMs).toISOString()}`
    return fail(name, detail, 'Set it, and synchronize it by NTP: days, caps and expiry times depend on it.')
  }
  if (Math.abs(drift) > maxDriftMs) {
    const detail = `it moved by ${Math.round(drift)} ms against the monotonic clock within ${sampleMs} ms`
    return warn(name, detail, 'It is being stepped: let NTP slew it.')
  }
  try {
    new Intl.DateTimeFormat('en', { timeZone: 'Asia/Shanghai' }).format(0)
  } catch {
    return fail(name, 'no time zone data', 'Use Node.js with full ICU, as installed by `npm ci`.')
  }
  return ok(name, `${now}, time zone data ${process.versions['tz'] ?? 'of the system'}`)
}

/** Why the relay's `/readyz` returns 503, by its metrics. */
export function describeUnready(metrics: string, { databaseUrl, dataDir, port }: Config): Finding {
  const isZero = (metric: string) => new RegExp(`^${metric} 0$`, 'm').test(metrics)
  const notReady = (why: string, advice: string) =>
    warn('port', `the relay on port ${port} is not ready (503): ${why}`, advice)
  if (isZero('sluice_ledger_consistent')) {
    return notReady(
      'its ledger does not add up, so it admits nothing',
      "Run sluice verify, and see `ledger mismatch` in the relay's log.",
    )
  }
  if (isZero('sluice_admitting')) {
    const store =
      databaseUrl === null ? `the database in ${dataDir}` : `PostgreSQL at ${new URL(databaseUrl).host}`
    return notReady(
      `${store} accepts no commits`,
      "See `admission halted` in the relay's log, and the findings about disk and database. It resumes by itself.",
    )
  }
  return notReady('it is starting or shutting down', 'Run doctor again in a moment.')
}

/** The port must be free if no relay is running, and `/readyz` must respond if one is. */
export async function checkPort(config: Config, isRunning: boolean): Promise<Finding> {
  const { host, port } = config
  const name = 'port'
  if (!isRunning) {
    const problem = await findPortProblem(host, port)
    if (problem === null) return ok(name, `${host} port ${port} is free`)
    return fail(
      name,
      `${host} port ${port} is not available (${problem})`,
      'Change HOST or PORT, or stop the program that uses it.',
    )
  }
  const shown = host.includes(':') ? `[${host}]` : host
  const scheme = config.tlsCertFile === null ? 'http' : 'https'
  const address = `${scheme}://${shown}:${port}`
  const status = await fetchStatus(`${address}/readyz`, probeTimeoutMs)
  if (status === 200) return ok(name, `the relay is ready on ${host} port ${port}`)
  if (status === 503) return describeUnready(await fetchText(`${address}/metrics`, probeTimeoutMs), config)
  const detail = `the relay's /readyz on ${host} port ${port} returns ${status}`
  return warn(
    name,
    detail,
    "Use the HOST and PORT that the relay was started with. If they are the same, see the relay's log.",
  )
}
