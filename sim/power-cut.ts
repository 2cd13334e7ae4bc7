/**
 * Power cuts, over and over: a file system on the disk that remembers (power-disk.ts). At a cut everything that the kernel
 * had only in its memory is gone; what it had written to the disk since the last flush is there, gone, or torn, by chance;
 * only what was flushed is surely there. The next file system is mounted on what is left.
 *
 * Needs root, /dev/fuse and loop devices, and a mount namespace of its own, so that nothing is left behind.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Chance } from './prng.ts'
import { logged, recordBytes } from './power-disk.ts'

const diskProgram = fileURLToPath(new URL('power-disk.ts', import.meta.url))
const diskBytes = 128 * 1024 * 1024
/** A machine that is busy with other things mounts when it comes to it. */
const patienceMs = 60_000
/** What a disk writes whole or not at all. */
const sectorBytes = 512

/**
 * `unshare` with namespaces of its own, for whoever cuts power: however that ends, the disk's server ends with it, and so do
 * the mounts. A disk without a server would keep everybody waiting who looks at the machine's loop devices.
 */
export const apart = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/** Why power cannot be cut on this machine; null when it can. */
export function whyNot(): string | null {
  if (process.getuid?.() !== 0) return 'only on some machines: cutting the power needs root'
  for (const path of ['/dev/fuse', '/dev/loop-control']) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
    } catch {
      return `only on some machines: cutting the power needs ${path}`
    }
  }
  for (const program of ['unshare', 'mount', 'umount', 'mkfs.ext4']) {
    if (spawnSync(program, ['--version']).error)
      return `only on some machines: cutting the power needs ${program}`
  }
  const own = spawnSync('unshare', [...apart, 'losetup', '--find'], { timeout: patienceMs })
  return own.status === 0
    ? null
    : 'only on some machines: cutting the power needs a mount namespace of its own and a free loop device'
}

function run(command: string, options: readonly string[], descriptor?: number): void {
  const stdio = ['ignore', 'ignore', 'pipe', ...(descriptor === undefined ? [] : [descriptor])] as const
  const { status, stderr } = spawnSync(command, options, { stdio: [...stdio], timeout: patienceMs })
  if (status !== 0) throw new Error(`${command} ${options.join(' ')}: ${String(stderr) || 'no answer'}`)
}

/** What a cut has left of the writes since the last flush. */
export interface Cut {
  readonly writes: number
  readonly flushes: number
  /** Written and not flushed. */
  readonly unsure: number
  /** Of those: not on the disk any more, at least in part. */
  readonly lost: number
}

export class PowerDisk {
  readonly #image: string
  readonly #log: string
  readonly #mount: string
  readonly #chance: Chance
  #server: ChildProcess | null = null
  /** The length of the log when the power went. */
  #loggedBytes = 0
  /** Where files are that survive a cut if they were synced. */
  readonly files: string

  /** Makes a disk in a folder of its own. */
  constructor(folder: string, seed: number) {
    this.#image = join(folder, 'image')
    this.#log = join(folder, 'log')
    this.#mount = join(folder, 'disk')
    this.files = join(folder, 'files')
    this.#chance = new Chance(seed)
    mkdirSync(this.#mount)
    mkdirSync(this.files)
    writeFileSync(this.#image, Buffer.alloc(diskBytes))
    run('mkfs.ext4', ['-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0,nodiscard', this.#image])
  }

  /** Turns the power on. */
  on(): void {
    const device = openSync('/dev/fuse', 'r+')
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0'
    run('mount', ['-i', '-t', 'fuse', '-o', options, 'disk', this.#mount], device)
    this.#server = spawn(process.execPath, [diskProgram, this.#image, this.#log], {
      stdio: ['ignore', 'inherit', 'inherit', device],
    })
    closeSync(device)
    run('mount', ['-o', 'loop,nodiscard', join(this.#mount, 'disk'), this.files])
  }

  /** The power goes: what is written from now on never was. */
  goes(): void {
    this.#loggedBytes = statSync(this.#log).size
  }

  /** It comes back, after whoever worked with the files has been killed. */
  async comes(): Promise<Cut> {
    await this.#off()
    const image = readFileSync(this.#image)
    const left = this.#replay(image, readFileSync(this.#log).subarray(0, this.#loggedBytes))
    writeFileSync(this.#image, image)
    this.on()
    return left
  }

  /** Takes the disk away as it is. */
  async #off(): Promise<void> {
    const server = this.#server
    if (!server) return
    this.#server = null
    const gone = once(server, 'exit')
    server.kill('SIGKILL')
    await gone
    // Either may not have been mounted: whoever ends after a failure tells of that one.
    for (const place of [this.files, this.#mount]) spawnSync('umount', ['-l', place])
  }

  async remove(): Promise<void> {
    await this.#off()
    // Unmounting goes on behind our back, and a folder that is mounted cannot be removed.
    await delay(100)
  }

  /** Does to the image what the log says, up to the last flush surely, and then by chance. */
  #replay(image: Buffer, log: Buffer): Cut {
    const records = recordsIn(log)
    const flushed = records.findLastIndex(({ kind }) => kind === logged.flush)
    const fate = this.#chance.pick(['all', 'none', 'some'] as const)
    let lost = 0
    for (const [index, { offset, data }] of records.entries()) {
      if (index <= flushed || fate === 'all') data.copy(image, offset)
      else if (fate === 'none' || !this.#tear(image, offset, data)) lost += 1
    }
    const writes = records.filter(({ kind }) => kind === logged.write).length
    const unsure = records.length - 1 - flushed
    return { writes, flushes: records.length - writes, unsure, lost }
  }

  /** Writes some of the sectors; false when not all. */
  #tear(image: Buffer, offset: number, data: Buffer): boolean {
    const share = this.#chance.pick([0, 0.5, 1])
    let isWhole = true
    for (let at = 0; at < data.length; at += sectorBytes) {
      if (this.#chance.next() < share) data.copy(image, offset + at, at, at + sectorBytes)
      else isWhole = false
    }
    return isWhole
  }
}

interface LogRecord {
  readonly kind: number
  readonly offset: number
  readonly data: Buffer
}

/** The records that are in the log as a whole. */
function recordsIn(log: Buffer): LogRecord[] {
  const records: LogRecord[] = []
  for (let at = 0; at + recordBytes <= log.length;) {
    const end = at + recordBytes + log.readUInt32LE(at + 4)
    if (end > log.length) break
    const offset = Number(log.readBigUInt64LE(at + 8))
    records.push({ kind: log.readUInt32LE(at), offset, data: log.subarray(at + recordBytes, end) })
    at = end
  }
  return records
}
