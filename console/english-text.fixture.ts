/** Runs inside a console page, for the tests that look for English in the Chinese console (test/support/console/page-checks.ts). */

/** Code, and what people type. */
const unchecked = 'code, pre, kbd, script, style, textarea'
const word = /^[("“'‘]?[A-Za-z][A-Za-z’'-]*[.,;:!?)”"’…]*$/

/** The texts with three or more English words in a row that are not part of an allowed text. */
export function englishTexts(allowed: readonly string[]): string[] {
  const found = new Set<string>()
  const check = (text: string): void => {
    const left = allowed.reduce((rest, each) => rest.replaceAll(each, ' 0 '), text)
    let count = 0
    for (const part of left.split(/\s+/)) {
      count = word.test(part) ? count + 1 : 0
      if (count === 3) found.add(text.trim())
    }
  }
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
    if (node.parentElement?.closest(unchecked) === null) check(node.textContent ?? '')
  for (const element of document.body.querySelectorAll('[aria-label], [placeholder]'))
    for (const name of ['aria-label', 'placeholder']) check(element.getAttribute(name) ?? '')
  return [...found]
}
