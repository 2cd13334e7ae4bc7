/** Finds the name that a misspelled one was meant to be. */

/** How many characters must be inserted, deleted, replaced or swapped with their neighbor (Damerau and Levenshtein). */
function editDistance(one: string, other: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      current[column] = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (beforePrevious[column - 2] ?? 0) + 1 : Infinity,
      )
    }
    ;[beforePrevious, previous] = [previous, current]
  }
  return previous[other.length] ?? 0
}

/** One edit per four characters, so that a short name is not taken for another word. */
const charsPerEdit = 4
const maxEdits = 3

/** The most similar of the names with the same first letter (SSL_CERT_FILE is not TLS_CERT_FILE), or `undefined`. */
export function findSimilarName(name: string, names: Iterable<string>): string | undefined {
  let found: { name: string; edits: number } | undefined
  for (const each of names) {
    const limit = Math.min(maxEdits, Math.floor(each.length / charsPerEdit))
    if (each[0] !== name[0] || Math.abs(each.length - name.length) > limit) continue
    const edits = editDistance(name, each)
    if (edits <= limit && edits < (found?.edits ?? Infinity)) found = { name: each, edits }
  }
  return found?.name
}
