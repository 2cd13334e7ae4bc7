/** What begins with a text, as a range that every index of texts can be asked for: from the first, below the second. */
export function beginning(text: string): readonly [string, string] {
  return [text, `${text}\u{10ffff}`]
}
