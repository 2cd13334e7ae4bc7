/** Renames the keys of objects in JSON text that arrives in pieces, which may be split anywhere. All else is unchanged. */
export class JsonKeyRenamer {
  readonly #names: ReadonlyMap<string, string>
  /** The open objects and lists; true: an object. */
  readonly #open: boolean[] = []
  #expectsKey = false
  #inString = false
  #isEscaped = false
  /** The text of a key that is incomplete, with its quotes; `null`: no key is open. */
  #key: string | null = null

  /** `names`: the new names by the names in the text. */
  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names
  }

  push(text: string): string {
    let written = ''
    for (const char of text) written += this.#inString ? this.#inside(char) : this.#outside(char)
    return written
  }

  #inside(char: string): string {
    const isEnd = char === '"' && !this.#isEscaped
    this.#isEscaped = char === '\\' && !this.#isEscaped
    if (isEnd) this.#inString = false
    if (this.#key === null) return char
    this.#key += char
    if (!isEnd) return ''
    const key = this.#key
    this.#key = null
    return this.#renamed(key)
  }

  #outside(char: string): string {
    switch (char) {
      case '{':
      case '[':
        this.#open.push(char === '{')
        this.#expectsKey = char === '{'
        break
      case '}':
      case ']':
        this.#open.pop()
        this.#expectsKey = false
        break
      case ',':
        this.#expectsKey = this.#open.at(-1) === true
        break
      case '"':
        this.#inString = true
        if (!this.#expectsKey) break
        this.#expectsKey = false
        this.#key = char
        return ''
    }
    return char
  }

  #renamed(key: string): string {
    try {
      const name = this.#names.get(JSON.parse(key) as string)
      return name === undefined ? key : JSON.stringify(name)
    } catch {
      return key
    }
  }
}
