/**
 * A recording disk: a FUSE file system with one file, to be mounted through a loop device. Writes and flushes
 * of the kernel are logged in order before they are acknowledged, so that the disk can be reconstructed as of
 * any moment, with or without what its cache would have lost.
 *
 *   node sim/power-disk.ts <image> <log>     (/dev/fuse is open as descriptor 3, and mounted)
 */
import { openSync, readFileSync, readSync, writeSync } from 'node:fs'

const fuseDescriptor = 3
/** The headers of a request, of a reply, and of reads and writes. */
const requestHeaderBytes = 40
const replyHeaderBytes = 16
const ioHeaderBytes = 40
const maxWriteBytes = 128 * 1024

const rootNode = 1n
const diskNode = 2n
const directoryMode = 0o040755
const fileMode = 0o100600
/** Direct I/O: nothing is cached between the loop device and this file. */
const directIo = 1

/** Operation codes of linux/fuse.h. */
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

const errors = { noEntry: -2, notImplemented: -38 } as const

/** Kinds of records in the log. */
export const recordKinds = { write: 1, flush: 2 } as const
/** Kind, length and offset. */
export const recordBytes = 16

function encodeRecord(kind: number, offset: bigint, length: number): Buffer {
  const head = Buffer.alloc(recordBytes)
  head.writeUInt32LE(kind, 0)
  head.writeUInt32LE(length, 4)
  head.writeBigUInt64LE(offset, 8)
  return head
}

class FuseDisk {
  readonly #image: Buffer
  readonly #log: number

  constructor(imagePath: string, logPath: string) {
    this.#image = readFileSync(imagePath)
    this.#log = openSync(logPath, 'w')
  }

  /** Replies to requests until the file system is unmounted. */
  serve(): void {
    const request = Buffer.alloc(requestHeaderBytes + ioHeaderBytes + maxWriteBytes + 4096)
    for (;;) {
      let length
      try {
        length = readSync(fuseDescriptor, request)
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : ''
        if (code === 'ENODEV') return
        if (code === 'EINTR' || code === 'ENOENT' || code === 'EAGAIN') continue
        throw error
      }
      this.#handle(request.subarray(0, length))
    }
  }

  #handle(request: Buffer): void {
    const operation = request.readUInt32LE(4)
    if (operation === operations.forget || operation === operations.forgetMany) return
    if (operation === operations.interrupt) return
    const reply = this.#replyTo(operation, request.readBigUInt64LE(16), request.subarray(requestHeaderBytes))
    const [error, body] = typeof reply === 'number' ? [reply, Buffer.alloc(0)] : [0, reply]
    const head = Buffer.alloc(replyHeaderBytes)
    head.writeUInt32LE(replyHeaderBytes + body.length, 0)
    head.writeInt32LE(error, 4)
    request.copy(head, 8, 8, 16)
    try {
      writeSync(fuseDescriptor, Buffer.concat([head, body]))
    } catch (failure) {
      // The requesting process was interrupted.
      if (!(failure instanceof Error && 'code' in failure && failure.code === 'ENOENT')) throw failure
    }
  }

  /** The body of the reply, or an error number. */
  #replyTo(operation: number, node: bigint, body: Buffer): Buffer | number {
    switch (operation) {
      case operations.init:
        return initReply()
      case operations.lookup:
        return body.toString('latin1', 0, body.indexOf(0)) === 'disk' ? this.#entry() : errors.noEntry
      case operations.getAttributes:
      case operations.setAttributes:
        return Buffer.concat([Buffer.alloc(16), this.#attributes(node)])
      case operations.open:
        return openReply(directIo)
      case operations.openDirectory:
        return openReply(0)
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
        writeSync(this.#log, encodeRecord(recordKinds.flush, 0n, 0))
        return Buffer.alloc(0)
      default:
        return errors.notImplemented
    }
  }

  #read(body: Buffer): Buffer {
    const offset = Number(body.readBigUInt64LE(8))
    return this.#image.subarray(offset, offset + body.readUInt32LE(16))
  }

  #write(body: Buffer): Buffer {
    const offset = body.readBigUInt64LE(8)
    const length = body.readUInt32LE(16)
    const data = body.subarray(ioHeaderBytes, ioHeaderBytes + length)
    writeSync(this.#log, Buffer.concat([encodeRecord(recordKinds.write, offset, length), data]))
    data.copy(this.#image, Number(offset))
    const reply = Buffer.alloc(8)
    reply.writeUInt32LE(length, 0)
    return reply
  }

  #entry(): Buffer {
    const head = Buffer.alloc(40)
    head.writeBigUInt64LE(diskNode, 0)
    return Buffer.concat([head, this.#attributes(diskNode)])
  }

  #attributes(node: bigint): Buffer {
    const attributes = Buffer.alloc(88)
    const size = node === diskNode ? BigInt(this.#image.length) : 0n
    attributes.writeBigUInt64LE(node, 0)
    attributes.writeBigUInt64LE(size, 8)
    attributes.writeBigUInt64LE(size / 512n, 16)
    attributes.writeUInt32LE(node === rootNode ? directoryMode : fileMode, 60)
    attributes.writeUInt32LE(1, 64)
    attributes.writeUInt32LE(4096, 80)
    return attributes
  }
}

/** Version 7.31 of the protocol; writes of up to 128 KiB. */
function initReply(): Buffer {
  const bigWrites = 1 << 5
  const manyPages = 1 << 22
  const reply = Buffer.alloc(64)
  reply.writeUInt32LE(7, 0)
  reply.writeUInt32LE(31, 4)
  reply.writeUInt32LE(maxWriteBytes, 8)
  reply.writeUInt32LE(bigWrites | manyPages, 12)
  reply.writeUInt32LE(maxWriteBytes, 20)
  reply.writeUInt32LE(1, 24)
  reply.writeUInt16LE(maxWriteBytes / 4096, 28)
  return reply
}

function openReply(flags: number): Buffer {
  const reply = Buffer.alloc(16)
  reply.writeUInt32LE(flags, 8)
  return reply
}

const [, program, image, log] = process.argv
if (import.meta.filename === program && image !== undefined && log !== undefined)
  new FuseDisk(image, log).serve()
