/** Removes every `character` at the end of the text. In linear time, unlike an expression such as `/\/+$/`. */
export function trimTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end -= 1
  return text.slice(0, end)
}
