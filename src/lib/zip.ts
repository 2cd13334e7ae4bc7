/**
 * Reads small ZIP archives, such as the bills of payment providers, over `node:zlib`: stored and deflated entries by the
 * central directory, with their checksums. Encrypted, split and ZIP64 archives are rejected.
 */
import { crc32, inflateRawSync } from 'node:zlib'

export interface ZipEntry {
  /** As stored: some archives name their files in GBK. */
  readonly name: Buffer
  readonly data: Buffer
}

const endLength = 22
const centralLength = 46
const localLength = 30
const maxCommentLength = 0xffff

/** The archive is cut, damaged, too large, or of a kind that is not read. */
export class ZipError extends Error {}

/** All files of an archive. `maxBytes`: of all entries together, unpacked. Throws a `ZipError`. */
export function readZip(archive: Buffer, maxBytes: number): ZipEntry[] {
  try {
    return readEntries(archive, maxBytes)
  } catch (error) {
    if (error instanceof ZipError) throw error
    // An offset beyond the end, or data that zlib rejects.
    throw new ZipError('The archive is damaged.', { cause: error })
  }
}

function readEntries(archive: Buffer, maxBytes: number): ZipEntry[] {
  const end = findEnd(archive)
  const count = archive.readUInt16LE(end + 10)
  const entries: ZipEntry[] = []
  let at = archive.readUInt32LE(end + 16)
  let left = maxBytes
  for (let index = 0; index < count; index += 1) {
    if (archive.readUInt32LE(at) !== 0x02014b50) throw new ZipError('The directory is damaged.')
    const nameEnd = at + centralLength + archive.readUInt16LE(at + 28)
    const name = archive.subarray(at + centralLength, nameEnd)
    const data = readData(archive, at, left)
    left -= data.length
    if (!name.toString('latin1').endsWith('/')) entries.push({ name, data })
    at = nameEnd + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  if (at !== end) throw new ZipError('The directory is damaged.')
  return entries
}

/** The end record is last, but for a comment. */
function findEnd(archive: Buffer): number {
  const first = Math.max(0, archive.length - endLength - maxCommentLength)
  for (let at = archive.length - endLength; at >= first; at -= 1) {
    const isEnd = archive.readUInt32LE(at) === 0x06054b50
    if (isEnd && at + endLength + archive.readUInt16LE(at + 20) === archive.length) return at
  }
  throw new ZipError('The archive has no end.')
}

/** The data of the entry whose record in the central directory is at `central`. */
function readData(archive: Buffer, central: number, maxBytes: number): Buffer {
  const [flags, method] = [archive.readUInt16LE(central + 8), archive.readUInt16LE(central + 10)]
  const [checksum, packed] = [archive.readUInt32LE(central + 16), archive.readUInt32LE(central + 20)]
  const [size, local] = [archive.readUInt32LE(central + 24), archive.readUInt32LE(central + 42)]
  if ((flags & 1) !== 0 || (method !== 0 && method !== 8))
    throw new ZipError('The archive is of another kind.')
  if (size > maxBytes) throw new ZipError(`The archive unpacks to more than ${maxBytes} bytes.`)
  if (archive.readUInt32LE(local) !== 0x04034b50) throw new ZipError('The archive is damaged.')
  const start = local + localLength + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
  const content = archive.subarray(start, start + packed)
  const data = method === 0 ? content : inflateRawSync(content, { maxOutputLength: Math.max(size, 1) })
  if (data.length !== size || crc32(data) !== checksum) throw new ZipError('The archive is damaged.')
  return data
}
