/**
 * Repeated power cuts: a file system on a recording disk (power-disk.ts). At a cut, everything in the
 * kernel's memory is lost. Writes since the last flush are kept, lost or torn at random; only what was
 * flushed is certain. The next file system is mounted on the result.
 *
 * Needs root, /dev/fuse and loop devices, and runs in its own mount namespace so that nothing is left behind.
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
import { fileURLToPath } from 'node:url'
import { Prng } from './prng.ts'
import { recordKinds, recordBytes } from './power-disk.ts'

const diskProgram = fileURLToPath(new URL('power-disk.ts', import.meta.url))
const diskBytes = 128 * 1024 * 1024
/** A busy machine may take long to mount. */
const commandTimeoutMs = 60_000
/** What a disk writes atomically. */
const sectorBytes = 512

/**
 * Options of `unshare` for processes that cut power: with namespaces of their own, the disk's server and the
 * mounts end with the process, however it ends. A disk without its server would block everybody who looks at
 * the machine's loop devices.
 */
export const unshareOptions = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/** Why this machine cannot simulate power cuts. null if it can. */
export function powerCutSkipReason(): string | null {
  if (process.getuid?.() !== 0) return 'only on some machines: simulating a power cut needs root'
  for (const path of ['/dev/fuse', '/dev/loop-control']) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
    } catch {
      return `only on some machines: simulating a power cut needs ${path}`
    }
  }
  for (const program of ['unshare', 'mount', 'umount', 'mkfs.ext4']) {
    if (spawnSync(program, ['--version']).error)
      return `only on some machines: simulating a power cut needs ${program}`
  }
  const trial = spawnSync('unshare', [...unshareOptions, 'losetup', '--find'], { timeout: commandTimeoutMs })
  return trial.status === 0
    ? null
    : 'only on some machines: simulating a power cut needs its own mount namespace and a free loop device'
}

function run(command: string, options: readonly string[], descriptor?: number): void {
  const stdio = ['ignore', 'ignore', 'pipe', ...(descriptor === undefined ? [] : [descriptor])] as const
  const { status, stderr } = spawnSync(command, options, { stdio: [...stdio], timeout: commandTimeoutMs })
  if (status !== 0) throw new Error(`${command} ${options.join(' ')}: ${String(stderr) || 'no response'}`)
}

/** What a power cut did to the writes since the last flush. */
export interface PowerCutResult {
  readonly writes: number
  readonly flushes: number
  /** Written but not flushed. */
  readonly unflushed: number
  /** Unflushed writes that were lost at least in part. */
  readonly lost: number
}

export class PowerDisk {
  readonly #image: string
  readonly #log: string
  readonly #mount: string
  readonly #prng: Prng
  #server: ChildProcess | null = null
  /** The length of the log at the time of the cut. */
  #loggedBytes = 0
  /** The mounted folder. Its files survive a cut if they were synced. */
  readonly files: string

  /** Creates a disk in an empty folder. */
  constructor(folder: string, seed: number) {
    this.#image = join(folder, 'image')
    this.#log = join(folder, 'log')
    this.#mount = join(folder, 'disk')
    this.files = join(folder, 'files')
    this.#prng = new Prng(seed)
    mkdirSync(this.#mount)
    mkdirSync(this.files)
    writeFileSync(this.#image, Buffer.alloc(diskBytes))
    run('mkfs.ext4', ['-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0,nodiscard', this.#image])
  }

  /** Turns the power on. */
  powerOn(): void {
    const device = openSync('/dev/fuse', 'r+')
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0'
    run('mount', ['-i', '-t', 'fuse', '-o', options, 'disk', this.#mount], device)
    this.#server = spawn(process.execPath, [diskProgram, this.#image, this.#log], {
      stdio: ['ignore', 'inherit', 'inherit', device],
    })
    closeSync(device)
    run('mount', ['-o', 'loop,nodiscard', join(this.#mount, 'disk'), this.files])
  }

  /** Cuts the power: later writes do not count. */
  cutPower(): void {
    this.#loggedBytes = statSync(this.#log).size
  }

  /** Restores the power. Processes that used the files must have been killed. */
  async restorePower(): Promise<PowerCutResult> {
    await this.#detach()
    const image = readFileSync(this.#image)
    const result = this.#replay(image, readFileSync(this.#log).subarray(0, this.#loggedBytes))
    writeFileSync(this.#image, image)
    this.powerOn()
    return result
  }

  /** Stops the server and unmounts. */
  async #detach(): Promise<void> {
    const server = this.#server
    if (!server) return
    this.#server = null
    const gone = once(server, 'exit')
    server.kill('SIGKILL')
    await gone
    // Either may not have been mounted. A failure to mount has already been reported.
    for (const mountPoint of [this.files, this.#mount]) spawnSync('umount', ['-l', mountPoint])
  }

  /** Unmounting continues in the background; until it ends, the folder cannot be removed. */
  async remove(): Promise<void> {
    await this.#detach()
  }

  /** Applies the log to the image: everything up to the last flush, and random later writes. */
  #replay(image: Buffer, log: Buffer): PowerCutResult {
    const records = parseRecords(log)
    const flushed = records.findLastIndex(({ kind }) => kind === recordKinds.flush)
    const fate = this.#prng.pick(['all', 'none', 'some'] as const)
    let lost = 0
    for (const [index, { offset, data }] of records.entries()) {
      if (index <= flushed || fate === 'all') data.copy(image, offset)
      else if (fate === 'none' || !this.#writeSectors(image, offset, data)) lost += 1
    }
    const writes = records.filter(({ kind }) => kind === recordKinds.write).length
    const unflushed = records.length - 1 - flushed
    return { writes, flushes: records.length - writes, unflushed, lost }
  }

  /** Writes a random part of the sectors. False if any is missing. */
  #writeSectors(image: Buffer, offset: number, data: Buffer): boolean {
    const share = this.#prng.pick([0, 0.5, 1])
    let isComplete = true
    for (let at = 0; at < data.length; at += sectorBytes) {
      if (this.#prng.next() < share) data.copy(image, offset + at, at, at + sectorBytes)
      else isComplete = false
    }
    return isComplete
  }
}

interface LogRecord {
  readonly kind: number
  readonly offset: number
  readonly data: Buffer
}

/** The complete records of the log. */
function parseRecords(log: Buffer): LogRecord[] {
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
