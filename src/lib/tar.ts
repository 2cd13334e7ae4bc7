/** Streams files as a tar archive (POSIX ustar; sizes over 8 GiB in GNU format). */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'

export interface TarFile {
  readonly name: string
  readonly bytes: number
}

const blockBytes = 512
const readBytes = 256 * 1024
/** The largest size in eleven octal digits. */
const maxOctalSize = 8 ** 11 - 1

function encodeSize(bytes: number): Buffer {
  if (bytes <= maxOctalSize) return Buffer.from(`${bytes.toString(8).padStart(11, '0')}\0`)
  const field = Buffer.alloc(12)
  field.writeBigUInt64BE(BigInt(bytes), 4)
  field[0] = 0x80
  return field
}

/** `path`: at most 100 bytes. */
function createHeader(path: string, bytes: number, seconds: number): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(blockBytes)
  header.write(path, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  encodeSize(bytes).copy(header, 124)
  header.write(`${seconds.toString(8).padStart(11, '0')}\0`, 136)
  header.write(' '.repeat(8), 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function paddingBytes(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes
}

/** The size of the archive of these files. */
export function tarSize(files: readonly TarFile[]): number {
  const bodies = files.map(({ bytes }) => blockBytes + bytes + paddingBytes(bytes))
  return bodies.reduce((sum, bytes) => sum + bytes, 2 * blockBytes)
}

/** Archives files in `folder`, which must not change meanwhile, under the folder `root`. */
export async function* createTar(
  folder: string,
  files: readonly TarFile[],
  root: string,
): AsyncGenerator<Buffer<ArrayBuffer>, void> {
  const seconds = Math.floor(Date.now() / 1000)
  for (const { name, bytes } of files) {
    yield createHeader(`${root}/${name}`, bytes, seconds)
    yield* createReadStream(join(folder, name), { highWaterMark: readBytes }) as AsyncIterable<
      Buffer<ArrayBuffer>
    >
    const padding = paddingBytes(bytes)
    if (padding > 0) yield Buffer.alloc(padding)
  }
  yield Buffer.alloc(2 * blockBytes)
}
