/** `JSON.rawJSON` (ECMAScript, "JSON.parse source text access"), which TypeScript's library does not declare yet. */
interface JSON {
  rawJSON(text: string): unknown
}
