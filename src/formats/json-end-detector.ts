/** Detects the end of a JSON object that arrives in pieces. */
const quote = 0x22
const backslash = 0x5c

export class JsonEndDetector {
  #depth = 0
  #isInString = false
  #isEscaped = false
  /** The object has started and ended. */
  isComplete = false

  push(text: string): void {
    for (let i = 0; i < text.length; i++) this.#pushCharacter(text.charCodeAt(i))
  }

  #pushCharacter(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (this.#isInString) {
      if (code === backslash) this.#isEscaped = true
      else if (code === quote) this.#isInString = false
    } else if (code === quote) this.#isInString = true
    else if (code === 0x7b || code === 0x5b) this.#depth += 1
    else if (code === 0x7d || code === 0x5d) {
      this.#depth -= 1
      if (this.#depth === 0) this.isComplete = true
    }
  }
}
