/** Objects of WeChat Pay's JSON. Numbers are read as they are written: amounts never pass through a floating-point number. */
import { scanJsonObject } from '../lib/json/json-scanner.ts'

export class WechatObject {
  readonly #values: ReadonlyMap<string, Buffer>

  private constructor(values: ReadonlyMap<string, Buffer>) {
    this.#values = values
  }

  /** null: it is not one JSON object with distinct keys. */
  static parse(json: Uint8Array): WechatObject | null {
    const text = Buffer.from(json)
    const scan = scanJsonObject(text)
    if (scan.kind !== 'object') return null
    return new WechatObject(
      new Map(scan.members.map(({ key, start, end }) => [key, text.subarray(start, end)])),
    )
  }

  /** The text of a field; empty if it is absent or not text. */
  text(name: string): string {
    const value = this.#parse(name)
    return typeof value === 'string' ? value : ''
  }

  /** A whole amount in minor units; null if it is absent, or anything else. */
  minor(name: string): bigint | null {
    const text = this.#values.get(name)?.toString() ?? ''
    return /^(?:0|[1-9]\d{0,14})$/.test(text) ? BigInt(text) : null
  }

  object(name: string): WechatObject | null {
    const value = this.#values.get(name)
    return value === undefined ? null : WechatObject.parse(value)
  }

  /** The objects of a list without amounts; null if it is absent, or has anything else in it. */
  objects(name: string): WechatObject[] | null {
    const value = this.#parse(name)
    if (!Array.isArray(value)) return null
    const objects = value.map((item) => WechatObject.parse(Buffer.from(JSON.stringify(item))))
    return objects.every((object) => object !== null) ? objects : null
  }

  #parse(name: string): unknown {
    return JSON.parse(this.#values.get(name)?.toString() ?? 'null')
  }
}
