/**
 * One relay for one data directory. The lock is the operating system's, so it is free the moment its holder is gone,
 * also after kill -9; the file beside it only tells people who the holder is.
 */

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { tryFileLock } from '../db/sqlite/file-lock.ts'
import { version } from './version.ts'

export const lockFileName = 'lock.db'
export const holderFileName = 'lock.json'

export interface LockHolder {
  readonly pid: number
  /** RFC 3339. */
  readonly since: string
  readonly host: string
  readonly version: string
  /** What it does with the directory: `serve`, or a command of the command line. */
  readonly command: string
}

export interface DataLock {
  readonly holder: LockHolder
  release(): void
}

export interface LockOptions {
  /** Told to whoever comes second. Default `serve`. */
  readonly command?: string
  /** How long to wait, without letting the loop run, for a holder that is about to end. Default 500. */
  readonly waitMs?: number
}

/** Somebody else works with the data directory. */
export class LockedError extends Error {
  readonly holder: LockHolder | undefined

  constructor(dataDir: string, holder: LockHolder | undefined) {
    super(
      `${dataDir} is in use by ${nameOf(holder)}. Only one process may work with it: stop that one first, ` +
        'or set DATA_DIR to another folder.',
    )
    this.name = 'LockedError'
    this.holder = holder
  }
}

/** A holder in words: `sluice serve (pid 4711 on relay-1, since …, version 0.1.0)`. */
export function nameOf(holder: LockHolder | undefined): string {
  if (holder === undefined) return 'another process'
  const { command, pid, host, since, version } = holder
  return `sluice ${command} (pid ${pid} on ${host}, since ${since}, version ${version})`
}

function isHolder(value: unknown): value is LockHolder {
  if (typeof value !== 'object' || value === null) return false
  const words = ['since', 'host', 'version', 'command']
  const fields = new Map<string, unknown>(Object.entries(value))
  return typeof fields.get('pid') === 'number' && words.every((word) => typeof fields.get(word) === 'string')
}

/** What the file says; undefined where it is absent or, between two holders, half true. */
function writtenHolder(dataDir: string): LockHolder | undefined {
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

/** Takes the data directory, making it (0700) when there is none. Throws LockedError when somebody else has it. */
export function takeLock(dataDir: string, options: LockOptions = {}): DataLock {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const lock = tryFileLock(join(dataDir, lockFileName), options.waitMs ?? 500)
  if (lock === undefined) throw new LockedError(dataDir, writtenHolder(dataDir))
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
  return {
    holder,
    release() {
      // The file may by now be the next holder's.
      if (!isHeld) return
      isHeld = false
      rmSync(join(dataDir, holderFileName), { force: true })
      lock.release()
    },
  }
}
