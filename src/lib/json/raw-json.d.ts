/** `JSON.rawJSON` (ECMAScript, "JSON.parse source text access"), which the compiler's library does not know yet. */
interface JSON {
  rawJSON(text: string): unknown
}
