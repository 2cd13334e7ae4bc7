/** Files as one archive (POSIX ustar; sizes beyond 8 GiB as GNU tar writes them), made while it is read. */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'

export interface TarFile {
  readonly name: string
  readonly bytes: number
}

const blockBytes = 512
const readBytes = 256 * 1024
/** The largest size that eleven octal digits can say. */
const octalMost = 8 ** 11 - 1

function sizeField(bytes: number): Buffer {
  if (bytes <= octalMost) return Buffer.from(`${bytes.toString(8).padStart(11, '0')}\0`)
  const field = Buffer.alloc(12)
  field.writeBigUInt64BE(BigInt(bytes), 4)
  field[0] = 0x80
  return field
}

/** `path`: at most 100 bytes, as ours are. */
function headerOf(path: string, bytes: number, seconds: number): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(blockBytes)
  header.write(path, 0)
  header.write('0000600\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  sizeField(bytes).copy(header, 124)
  header.write(`${seconds.toString(8).padStart(11, '0')}\0`, 136)
  header.write(' '.repeat(8), 148)
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return header
}

function paddingAfter(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes
}

/** How long the archive of these files is. */
export function tarBytes(files: readonly TarFile[]): number {
  const bodies = files.map(({ bytes }) => blockBytes + bytes + paddingAfter(bytes))
  return bodies.reduce((sum, bytes) => sum + bytes, 2 * blockBytes)
}

/** The archive of files that lie in `folder` and do not change; in it they lie in a folder of the name `root`. */
export async function* tarOf(
  folder: string,
  files: readonly TarFile[],
  root: string,
): AsyncGenerator<Buffer<ArrayBuffer>, void> {
  const seconds = Math.floor(Date.now() / 1000)
  for (const { name, bytes } of files) {
    yield headerOf(`${root}/${name}`, bytes, seconds)
    yield* createReadStream(join(folder, name), { highWaterMark: readBytes }) as AsyncIterable<
      Buffer<ArrayBuffer>
    >
    const padding = paddingAfter(bytes)
    if (padding > 0) yield Buffer.alloc(padding)
  }
  yield Buffer.alloc(2 * blockBytes)
}
