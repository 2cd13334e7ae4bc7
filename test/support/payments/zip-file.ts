/** Writes ZIP archives and GBK text, as bills of payment providers have them. */
import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipFile {
  readonly name: Buffer
  readonly data: Buffer
  /** Without compression. */
  readonly isStored?: boolean
}

export function zipOf(files: readonly ZipFile[]): Buffer {
  const local: Buffer[] = []
  const central: Buffer[] = []
  let at = 0
  for (const { name, data, isStored = false } of files) {
    const packed = isStored ? data : deflateRawSync(data)
    // From the version needed to the lengths of name and extra field, both records are alike.
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(isStored ? 0 : 8, 4)
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(name.length, 22)
    local.push(Buffer.from('PK\x03\x04'), common, name, packed)
    const tail = Buffer.alloc(14)
    tail.writeUInt32LE(at, 10)
    central.push(Buffer.from('PK\x01\x02\x14\x00'), common, tail, name)
    at += 30 + name.length + packed.length
  }
  const directory = Buffer.concat(central)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(directory.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...local, directory, end])
}

/** Node decodes GBK only; each character of two bytes is found by decoding all of them once. */
const gbkBytes = new Map<string, Buffer>()

export function gbkOf(text: string): Buffer {
  if (gbkBytes.size === 0) {
    const decoder = new TextDecoder('gbk')
    for (let lead = 0x81; lead < 0xff; lead += 1) {
      for (let trail = 0x40; trail < 0xff; trail += 1) {
        const bytes = Buffer.from([lead, trail])
        gbkBytes.set(decoder.decode(bytes), bytes)
      }
    }
  }
  return Buffer.concat(Array.from(text, (character) => gbkBytes.get(character) ?? Buffer.from(character)))
}
