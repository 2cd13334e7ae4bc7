/**
 * Generates request bodies that JSON parsers could read differently: repeated keys, keys that differ only in escapes,
 * case or invisible characters, numbers in odd notations, depth, byte order marks, damage. The same seed gives the same
 * body.
 */
import { Prng } from '../../../sim/prng.ts'

const messages = ['[{"role":"user","content":"Hello"}]', '[{"role":"user","content":"\\ud83d\\ude00"}]']
const models = ['"cheap"', '"dear"', '"che\\u0061p"']
const oddNumbers = [
  '1e0',
  '1.0',
  '10e-1',
  '1E+1',
  '0.5e1',
  '-0',
  '-1',
  '0',
  '01',
  '1.',
  '.5',
  '+1',
  '0x10',
  '1_0',
  '1e400',
  '1e-400',
  '2147483649',
  '9007199254740993',
  '18446744073709551617',
  '4.000000000000000000001',
  '"4"',
  'NaN',
  'Infinity',
  '٤',
]
const odd = [
  'null',
  'true',
  'false',
  '""',
  '[]',
  '{}',
  '[1]',
  '{"model":"dear"}',
  '"\\ud800"',
  '"a\\u0000"',
  'undefined',
]

/** Valid values of each field that the relay reads, and the odd ones that it may meet. */
const values: Readonly<Record<string, readonly string[]>> = {
  model: models,
  n: ['1', '2', '128', ...oddNumbers],
  max_tokens: ['1', '50', '8000', ...oddNumbers],
  max_completion_tokens: ['1', '40', '9000', ...oddNumbers],
  stream: ['true', 'false', 'true', 'false', '"true"', '1', 'True'],
  stream_options: ['{"include_usage":true}', '{"include_usage":false,"include_usage":true}', '{}'],
  messages,
  temperature: ['1', '0.5', ...oddNumbers],
  metadata: ['{"model":"dear","n":9}', '[{"max_tokens":1}]', '"\\"model\\":\\"dear\\""'],
}
const names = Object.keys(values)

/** Characters that some readers take for ASCII letters when they ignore case. */
const lookalikes: Readonly<Record<string, string>> = {
  k: '\u212a',
  s: '\u017f',
  i: '\u0131',
  st: '\ufb06',
  m: '\uff4d',
}
const invisible = ['\\u0000', '\\ud800', '\\udc00', '\u200b', '\ufeff', '\u00ad', ' ', '\u007f', '\\t']
const spaces = ['', '', '', '', ' ', '\n', '\t', '\r\n', '   ']
const oddSpaces = ['\f', '\v', '\u00a0', '\u2028', '\ufeff', '/**/', '//\n', '\0', ',']

/** A request body. */
export function generateBody(seed: number): Buffer {
  return new BodyGenerator(new Prng(seed)).body()
}

class BodyGenerator {
  readonly #prng: Prng

  constructor(prng: Prng) {
    this.#prng = prng
  }

  body(): Buffer {
    const prng = this.#prng
    const required = ['model', 'messages', ...(prng.bool(0.6) ? ['max_tokens'] : [])]
    const members = required.map((name) => this.#member(this.#key(name), this.#usualValue(name)))
    while (prng.bool(0.6)) members.push(this.#oddMember())
    if (prng.bool(0.02)) members.push(this.#deepMember())
    if (prng.bool(0.01)) for (let nth = 0; nth < 1030; nth += 1) members.push(`"x${nth}":0`)
    const order = prng.bool(0.5) ? members : members.toSorted(() => prng.next() - 0.5)
    const text = `${this.#space()}{${order.join(',')}${this.#space()}}${this.#end()}`
    return this.#damage(Buffer.from(prng.bool(0.05) ? `\ufeff${text}` : text))
  }

  #member(key: string, value: string): string {
    return `${this.#space()}"${key}"${this.#space()}:${this.#space()}${value}${this.#space()}`
  }

  #usualValue(name: string): string {
    const usual = values[name] ?? []
    return this.#prng.pick(this.#prng.bool(0.9) ? usual.slice(0, 3) : [...usual, ...odd])
  }

  #oddMember(): string {
    const prng = this.#prng
    const name = prng.pick(names)
    const key = prng.bool(0.3) ? this.#oddKey(name) : this.#key(name)
    return this.#member(key, prng.bool(0.8) ? this.#usualValue(name) : prng.pick(odd))
  }

  /** The name, sometimes with escapes. */
  #key(name: string): string {
    if (this.#prng.bool(0.8)) return name
    return this.#mapLetters(name, (letter) => `\\u00${this.#hex(letter.charCodeAt(0))}`)
  }

  /** Not the name, though some readers may take it for that. */
  #oddKey(name: string): string {
    const prng = this.#prng
    switch (prng.below(4)) {
      case 0:
        return this.#mapLetters(name, (letter) => letter.toUpperCase())
      case 1: {
        const [letter, other] = prng.pick(Object.entries(lookalikes))
        const escaped = `\\u${other.charCodeAt(0).toString(16).padStart(4, '0')}`
        return name.replace(letter, prng.bool(0.5) ? other : escaped)
      }
      case 2: {
        const at = prng.pick([0, name.length, prng.below(name.length)])
        return name.slice(0, at) + prng.pick(invisible) + name.slice(at)
      }
      default:
        return prng.pick([
          '',
          'modelx',
          'a.model',
          'model[]',
          'constructor',
          '__proto__',
          'n_predict',
          `${name}\\"`,
        ])
    }
  }

  #mapLetters(text: string, map: (letter: string) => string): string {
    const isMapped = this.#prng.bool(0.3) ? () => true : () => this.#prng.bool(0.3)
    return Array.from(text, (letter) => (isMapped() ? map(letter) : letter)).join('')
  }

  #hex(code: number): string {
    const text = code.toString(16)
    return this.#prng.bool(0.5) ? text : text.toUpperCase()
  }

  #deepMember(): string {
    const depth = this.#prng.pick([100, 500, 510, 511, 512, 513, 514, 2000])
    const [open, close] = this.#prng.pick([
      ['[', ']'],
      ['{"model":', '}'],
    ] as const)
    return `"x":${open.repeat(depth)}1${close.repeat(depth)}`
  }

  #space(): string {
    return this.#prng.pick(this.#prng.bool(0.997) ? spaces : oddSpaces)
  }

  #end(): string {
    return this.#prng.bool(0.97)
      ? this.#space()
      : this.#prng.pick(['}', ',', '{"model":"dear"}', '\0', '\x1a', 'x'])
  }

  /** Changes, removes or inserts a byte, sometimes. */
  #damage(body: Buffer): Buffer {
    const prng = this.#prng
    if (prng.bool(0.9)) return body
    const at = prng.below(body.length + 1)
    const byte = prng.bool(0.5) ? prng.pick([...Buffer.from('{}[]",:\\u0e-. \n')]) : prng.below(256)
    const removed = prng.pick([0, 1, 1])
    return Buffer.concat([body.subarray(0, at), Buffer.from([byte]), body.subarray(at + removed)])
  }
}
