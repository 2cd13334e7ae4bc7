/** Runs inside a console page, for the test that visits every page (test/support/console/page-checks.ts). */

/** Texts that overflow the window or are clipped by an ancestor, except in scrollable elements or with a title. */
export function clippedTexts(): string[] {
  const clipped: string[] = []
  const overflowPx = document.documentElement.scrollWidth - window.innerWidth
  if (overflowPx > 1) clipped.push(`the page is ${overflowPx} px too wide`)
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    const text = Array.from(element.childNodes)
      .filter((node) => node.nodeType === Node.TEXT_NODE)
      .map((node) => (node.textContent ?? '').trim())
      .join('')
    if (text === '' || element.closest('.visually-hidden, .skip-link, option, pre, thead, svg') !== null)
      continue
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue
    const box = element.getBoundingClientRect()
    if (box.width === 0 || box.height === 0) continue
    const hasTitle = element.closest('[title]') !== null || element.title !== ''
    for (let ancestor: HTMLElement | null = element; ancestor !== null; ancestor = ancestor.parentElement) {
      const { overflowX } = getComputedStyle(ancestor)
      if (overflowX === 'auto' || overflowX === 'scroll') break
      const frame = ancestor.getBoundingClientRect()
      const isClipped =
        ancestor === element ? ancestor.scrollWidth > ancestor.clientWidth + 1 : box.right > frame.right + 1
      const clips = overflowX === 'hidden' || overflowX === 'clip'
      if (clips && isClipped && !hasTitle && ancestor.clientWidth > 0) {
        clipped.push(`"${text.slice(0, 60)}" in ${ancestor.tagName}.${ancestor.className}`)
        break
      }
    }
    if (box.right > window.innerWidth + 1 && element.closest('pre, .mantine-Modal-content') === null) {
      clipped.push(`"${text.slice(0, 60)}" goes beyond the window`)
    }
  }
  return [...new Set(clipped)]
}
