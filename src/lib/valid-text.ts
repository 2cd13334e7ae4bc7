/**
 * Valid text is well-formed Unicode without U+0000: SQLite and PostgreSQL return exactly what was written. A lone
 * surrogate has no UTF-8, and PostgreSQL cannot store U+0000.
 */

export function isValidText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Replaces each lone surrogate and each U+0000 by U+FFFD. */
export function toValidText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text).toWellFormed()
}

/** Valid text of at most `maxLength` code units, from a source outside of the relay. Does not split a character. */
export function toBoundedText(text: string, maxLength: number): string {
  const valid = toValidText(text)
  if (valid.length <= maxLength) return valid
  const cut = valid.slice(0, maxLength)
  return cut.isWellFormed() ? cut : cut.slice(0, -1)
}

/** Invalid characters as JSON escapes, such as `\ud83d`, so that the text can be shown. */
export function escapeInvalidText(text: string): string {
  return isValidText(text) ? text : JSON.stringify(text).slice(1, -1)
}
