/**
 * One relay per data directory. The lock is the operating system's, so it is free as soon as its holder exits, even after
 * kill -9; the file next to it only names the holder.
 */

import { constants, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { tryAcquireFileLock } from './file-lock.ts'
import { findAccessProblem } from './open-database.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { version } from '../../lib/version.ts'

export const lockFileName = 'lock.db'
export const holderFileName = 'lock.json'

export interface LockHolder {
  readonly pid: number
  /** RFC 3339. */
  readonly since: string
  readonly host: string
  readonly version: string
  /** The command that holds it, such as `serve`. */
  readonly command: string
}

export interface DataDirLock extends Disposable {
  readonly holder: LockHolder
  release(): void
}

export interface DataDirLockOptions {
  /** Named in the error of a second process. Default `serve`. */
  readonly command?: string
  /** How long to wait, blocking the event loop, for a holder that is about to exit. Default 500. */
  readonly waitMs?: number
}

/** Another process uses the data directory. */
export class DataDirLockedError extends Error {
  readonly holder: LockHolder | undefined

  constructor(dataDir: string, holder: LockHolder | undefined) {
    super(
      `${dataDir} is in use by ${describeHolder(holder)}. Only one process may use it. ` +
        'Stop that process, or set DATA_DIR to another folder.',
    )
    this.name = 'DataDirLockedError'
    this.holder = holder
  }
}

/** The process that uses the data directory, in words; null if none does. Writes nothing, so a full disk is no problem. */
export function findLockHolder(dataDir: string): string | null {
  const path = join(dataDir, lockFileName)
  if (!existsSync(path)) return null
  const lock = tryAcquireFileLock(path, 0)
  lock?.release()
  return lock === undefined ? describeHolder(readHolder(dataDir)) : null
}

/** The process that uses the data directory, as its file names it; `null` if that is absent, or of another machine. */
export function findLockingPid(dataDir: string): number | null {
  const holder = readHolder(dataDir)
  return holder?.host === hostname() ? holder.pid : null
}

/** For example `sluice serve (pid 4711 on relay-1, since …, version 0.1.0)`. */
function describeHolder(holder: LockHolder | undefined): string {
  if (holder === undefined) return 'another process'
  const { command, pid, host, since, version } = holder
  return `sluice ${command} (pid ${pid} on ${host}, since ${since}, version ${version})`
}

function isHolder(value: unknown): value is LockHolder {
  if (typeof value !== 'object' || value === null) return false
  const names = ['since', 'host', 'version', 'command']
  const fields = new Map<string, unknown>(Object.entries(value))
  return typeof fields.get('pid') === 'number' && names.every((name) => typeof fields.get(name) === 'string')
}

/** The holder in the file; undefined if it is absent or, between two holders, incomplete. */
function readHolder(dataDir: string): LockHolder | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dataDir, holderFileName), 'utf8'))
    return isHolder(value) ? value : undefined
  } catch {
    return undefined
  }
}

function writeHolder(dataDir: string, holder: LockHolder): void {
  const path = join(dataDir, holderFileName)
  writeFileSync(`${path}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Creates the directory (0700) if it does not exist. Throws unless this user can read and write it. */
function openDataDir(dataDir: string): void {
  let problem: string | null
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    problem = findAccessProblem(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    problem = errorMessage(error)
  }
  if (problem === null) return
  throw new Error(
    `Cannot use DATA_DIR (${problem}). Run sluice as the owner of that folder, or set DATA_DIR to another one.`,
  )
}

/** Locks the data directory, creating it (0700) if it does not exist. Throws DataDirLockedError if another process uses it. */
export function acquireLock(dataDir: string, options: DataDirLockOptions = {}): DataDirLock {
  openDataDir(dataDir)
  const lock = tryAcquireFileLock(join(dataDir, lockFileName), options.waitMs ?? 500)
  if (lock === undefined) throw new DataDirLockedError(dataDir, readHolder(dataDir))
  const holder: LockHolder = {
    pid: process.pid,
    since: new Date().toISOString(),
    host: hostname(),
    version,
    command: options.command ?? 'serve',
  }
  try {
    writeHolder(dataDir, holder)
  } catch (error) {
    lock.release()
    throw error
  }
  let isHeld = true
  const release = (): void => {
    // The file may belong to the next holder by now.
    if (!isHeld) return
    isHeld = false
    rmSync(join(dataDir, holderFileName), { force: true })
    lock.release()
  }
  return { holder, release, [Symbol.dispose]: release }
}
