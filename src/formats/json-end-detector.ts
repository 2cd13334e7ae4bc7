/** Notices where an object of JSON that comes in pieces ends. */
const quote = 0x22
const backslash = 0x5c

export class JsonEnd {
  #depth = 0
  #isInString = false
  #isEscaped = false
  /** The object has begun and ended: nothing can belong to it any more. */
  isReached = false

  take(text: string): void {
    for (let i = 0; i < text.length; i++) this.#character(text.charCodeAt(i))
  }

  #character(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (this.#isInString) {
      if (code === backslash) this.#isEscaped = true
      else if (code === quote) this.#isInString = false
    } else if (code === quote) this.#isInString = true
    else if (code === 0x7b || code === 0x5b) this.#depth += 1
    else if (code === 0x7d || code === 0x5d) {
      this.#depth -= 1
      if (this.#depth === 0) this.isReached = true
    }
  }
}
