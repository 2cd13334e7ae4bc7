/** Runs inside a console page, for the tests that measure its texts (test/support/console/page-checks.ts). */

/** Texts for screen readers only, of form controls, or in a diagram. */
const unmeasured = '.visually-hidden, .skip-link, option, pre, svg, script, style'

function isVisible(element: Element): boolean {
  if (element.closest(unmeasured) !== null) return false
  if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false
  // On a phone, the header of a table is for screen readers only.
  const header = element.closest('thead')
  return header === null || getComputedStyle(header).clipPath === 'none'
}

/** An ellipsis is a sign that there is more, which the title shows. */
function hasEllipsis(box: Element): boolean {
  return getComputedStyle(box).textOverflow === 'ellipsis' && box.closest('[title]') !== null
}

/** The first ancestor of a text that is too narrow for it: it cuts the text off, or the text runs over its edge. */
function boxTooNarrow(element: Element, text: DOMRect): Element | null {
  let isOwnBox = true
  for (let box: Element | null = element; box !== null; box = box.parentElement) {
    const { display, overflowX, paddingLeft, paddingRight } = getComputedStyle(box)
    if (display.startsWith('inline') && overflowX === 'visible') continue
    if (overflowX === 'auto' || overflowX === 'scroll') return null
    const { left, right } = box.getBoundingClientRect()
    const isCut = text.right > right + 1 || text.left < left - 1
    const isWider = text.width > right - left - parseFloat(paddingLeft) - parseFloat(paddingRight) + 1
    if ((isOwnBox && (isCut || isWider)) || (isCut && overflowX !== 'visible')) return box
    isOwnBox = false
  }
  return null
}

/** The visible texts that are wider than their box or the window, or cut off without a title or a way to scroll. */
export function clippedTexts(): string[] {
  const clipped: string[] = []
  const overflowPx = document.documentElement.scrollWidth - window.innerWidth
  if (overflowPx > 1) clipped.push(`the page is ${overflowPx} px too wide`)
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const element = node.parentElement
    const text = (node.textContent ?? '').trim().slice(0, 60)
    if (element === null || text === '' || !isVisible(element)) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const rect = range.getBoundingClientRect()
    if (rect.width === 0 || rect.height === 0) continue
    const box = boxTooNarrow(element, rect)
    if (box !== null && hasEllipsis(box)) continue
    if (box !== null) clipped.push(`"${text}" in ${box.tagName}.${box.className}`)
    const canScroll = element.closest('.table-container, .mantine-Modal-content') !== null
    if (rect.right > window.innerWidth + 1 && !canScroll) clipped.push(`"${text}" goes beyond the window`)
  }
  return [...new Set(clipped)]
}
