/** Runs inside a page of the console, for the test that looks at all of them (test/page-sweep.ts). */

/** Texts that go beyond the window or are clipped by what is around them, unless it scrolls or tells them on hover. */
export function cutTexts(): string[] {
  const cut: string[] = []
  const wide = document.documentElement.scrollWidth - window.innerWidth
  if (wide > 1) cut.push(`the page is ${wide} px too wide`)
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    const text = Array.from(element.childNodes)
      .filter((node) => node.nodeType === Node.TEXT_NODE)
      .map((node) => (node.textContent ?? '').trim())
      .join('')
    if (text === '' || element.closest('.unseen, .skip, option, pre, thead, svg') !== null) continue
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue
    const box = element.getBoundingClientRect()
    if (box.width === 0 || box.height === 0) continue
    const isTold = element.closest('[title]') !== null || element.title !== ''
    for (let around: HTMLElement | null = element; around !== null; around = around.parentElement) {
      const { overflowX } = getComputedStyle(around)
      if (overflowX === 'auto' || overflowX === 'scroll') break
      const frame = around.getBoundingClientRect()
      const isClipped =
        around === element ? around.scrollWidth > around.clientWidth + 1 : box.right > frame.right + 1
      const clips = overflowX === 'hidden' || overflowX === 'clip'
      if (clips && isClipped && !isTold && around.clientWidth > 0) {
        cut.push(`"${text.slice(0, 60)}" in ${around.tagName}.${around.className}`)
        break
      }
    }
    if (box.right > window.innerWidth + 1 && element.closest('pre, .mantine-Modal-content') === null) {
      cut.push(`"${text.slice(0, 60)}" goes beyond the window`)
    }
  }
  return [...new Set(cut)]
}
