/**
 * A disk that remembers in which order it was written to: one file of a file system in user space, to be mounted through
 * a loop device. What the kernel writes and when it asks for a flush are noted in a log before either is answered, so
 * that the disk of any moment can be made again, with or without what its cache would have lost.
 *
 *   node sim/power-disk.ts <image> <log>     (/dev/fuse is open as descriptor 3, and mounted)
 */
import { openSync, readFileSync, readSync, writeSync } from 'node:fs'

const fuse = 3
/** The header of a request, of an answer, and of what a read or write asks for. */
const headBytes = 40
const answerBytes = 16
const ioBytes = 40
const mostWriteBytes = 128 * 1024

const root = 1n
const disk = 2n
const directory = 0o040755
const file = 0o100600
/** Reads and writes are ours alone: nothing is remembered between the loop device and this file. */
const directIo = 1

/** Operations, as linux/fuse.h numbers them. */
const operations = {
  lookup: 1,
  forget: 2,
  getAttributes: 3,
  setAttributes: 4,
  open: 14,
  read: 15,
  write: 16,
  statistics: 17,
  release: 18,
  sync: 20,
  flush: 25,
  init: 26,
  openDirectory: 27,
  releaseDirectory: 29,
  interrupt: 36,
  forgetMany: 42,
} as const

const errors = { noEntry: -2, notKnown: -38 } as const

/** Kinds of records in the log. */
export const logged = { write: 1, flush: 2 } as const
/** Kind, length and offset. */
export const recordBytes = 16

function record(kind: number, offset: bigint, length: number): Buffer {
  const head = Buffer.alloc(recordBytes)
  head.writeUInt32LE(kind, 0)
  head.writeUInt32LE(length, 4)
  head.writeBigUInt64LE(offset, 8)
  return head
}

class Disk {
  readonly #image: Buffer
  readonly #log: number

  constructor(imagePath: string, logPath: string) {
    this.#image = readFileSync(imagePath)
    this.#log = openSync(logPath, 'w')
  }

  /** Answers requests until the file system is unmounted. */
  serve(): void {
    const request = Buffer.alloc(headBytes + ioBytes + mostWriteBytes + 4096)
    for (;;) {
      let length
      try {
        length = readSync(fuse, request)
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : ''
        if (code === 'ENODEV') return
        if (code === 'EINTR' || code === 'ENOENT' || code === 'EAGAIN') continue
        throw error
      }
      this.#take(request.subarray(0, length))
    }
  }

  #take(request: Buffer): void {
    const operation = request.readUInt32LE(4)
    if (operation === operations.forget || operation === operations.forgetMany) return
    if (operation === operations.interrupt) return
    const answer = this.#answer(operation, request.readBigUInt64LE(16), request.subarray(headBytes))
    const [error, body] = typeof answer === 'number' ? [answer, Buffer.alloc(0)] : [0, answer]
    const head = Buffer.alloc(answerBytes)
    head.writeUInt32LE(answerBytes + body.length, 0)
    head.writeInt32LE(error, 4)
    request.copy(head, 8, 8, 16)
    try {
      writeSync(fuse, Buffer.concat([head, body]))
    } catch (failure) {
      // Who asked was interrupted.
      if (!(failure instanceof Error && 'code' in failure && failure.code === 'ENOENT')) throw failure
    }
  }

  /** The body of the answer, or an error's number. */
  #answer(operation: number, node: bigint, body: Buffer): Buffer | number {
    switch (operation) {
      case operations.init:
        return initAnswer()
      case operations.lookup:
        return body.toString('latin1', 0, body.indexOf(0)) === 'disk' ? this.#entry() : errors.noEntry
      case operations.getAttributes:
      case operations.setAttributes:
        return Buffer.concat([Buffer.alloc(16), this.#attributes(node)])
      case operations.open:
        return opened(directIo)
      case operations.openDirectory:
        return opened(0)
      case operations.statistics:
        return Buffer.alloc(80)
      case operations.release:
      case operations.releaseDirectory:
      case operations.flush:
        return Buffer.alloc(0)
      case operations.read:
        return this.#read(body)
      case operations.write:
        return this.#write(body)
      case operations.sync:
        writeSync(this.#log, record(logged.flush, 0n, 0))
        return Buffer.alloc(0)
      default:
        return errors.notKnown
    }
  }

  #read(body: Buffer): Buffer {
    const offset = Number(body.readBigUInt64LE(8))
    return this.#image.subarray(offset, offset + body.readUInt32LE(16))
  }

  #write(body: Buffer): Buffer {
    const offset = body.readBigUInt64LE(8)
    const length = body.readUInt32LE(16)
    const data = body.subarray(ioBytes, ioBytes + length)
    writeSync(this.#log, Buffer.concat([record(logged.write, offset, length), data]))
    data.copy(this.#image, Number(offset))
    const answer = Buffer.alloc(8)
    answer.writeUInt32LE(length, 0)
    return answer
  }

  #entry(): Buffer {
    const head = Buffer.alloc(40)
    head.writeBigUInt64LE(disk, 0)
    return Buffer.concat([head, this.#attributes(disk)])
  }

  #attributes(node: bigint): Buffer {
    const attributes = Buffer.alloc(88)
    const size = node === disk ? BigInt(this.#image.length) : 0n
    attributes.writeBigUInt64LE(node, 0)
    attributes.writeBigUInt64LE(size, 8)
    attributes.writeBigUInt64LE(size / 512n, 16)
    attributes.writeUInt32LE(node === root ? directory : file, 60)
    attributes.writeUInt32LE(1, 64)
    attributes.writeUInt32LE(4096, 80)
    return attributes
  }
}

/** Version 7.31 of the protocol; writes of up to 128 KiB. */
function initAnswer(): Buffer {
  const bigWrites = 1 << 5
  const manyPages = 1 << 22
  const answer = Buffer.alloc(64)
  answer.writeUInt32LE(7, 0)
  answer.writeUInt32LE(31, 4)
  answer.writeUInt32LE(mostWriteBytes, 8)
  answer.writeUInt32LE(bigWrites | manyPages, 12)
  answer.writeUInt32LE(mostWriteBytes, 20)
  answer.writeUInt32LE(1, 24)
  answer.writeUInt16LE(mostWriteBytes / 4096, 28)
  return answer
}

function opened(flags: number): Buffer {
  const answer = Buffer.alloc(16)
  answer.writeUInt32LE(flags, 8)
  return answer
}

const [, program, image, log] = process.argv
if (import.meta.filename === program && image !== undefined && log !== undefined) new Disk(image, log).serve()
