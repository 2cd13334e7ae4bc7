/** Formatting of figures in Markdown. */

export function grouped(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

export function table(head: string[], rows: string[][]): string[] {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [
    line(head),
    line(head.map((_, index) => (index === 0 ? '---' : '--:'))),
    ...rows.map((cells) => line(cells)),
  ]
}
