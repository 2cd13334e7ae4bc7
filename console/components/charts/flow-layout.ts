/** The shape of the flow picture: which boxes stand where, how high they are, and the bands between them. */

export interface Step {
  /** Of the box in each column, from left to right. */
  readonly boxes: readonly [Spot, Spot, Spot]
  readonly requests: number
  readonly failures: number
}

export interface Spot {
  readonly id: string
  readonly name: string
}

export interface Box extends Spot {
  readonly column: number
  readonly requests: number
  readonly failures: number
  readonly y: number
  readonly height: number
}

export interface Band {
  readonly id: string
  readonly from: string
  readonly to: string
  /** What goes well, and what fails, as closed shapes side by side. */
  readonly good: string
  readonly bad: string
}

export interface Shape {
  readonly boxes: readonly Box[]
  readonly bands: readonly Band[]
  readonly height: number
}

export const pictureWidth = 1000
/** The left edges of the boxes of each column. */
export const columnsX = [250, 495, 740] as const
export const boxWidth = 10
/** Boxes are told apart, so many in a column; the rest are one. */
const boxesMost = 8
const othersId = 'others'
/** What all requests together measure, and what a box takes at least so that its name can be read. */
const wholeHeight = 200
const slotLeast = 20
const slotGap = 8

type Sums = Map<string, { readonly name: string; requests: number; failures: number }>

function sumsOf(steps: readonly Step[], column: 0 | 1 | 2): Sums {
  const sums: Sums = new Map()
  for (const { boxes, requests, failures } of steps) {
    const { id, name } = boxes[column]
    const sum = sums.get(id) ?? { name, requests: 0, failures: 0 }
    sum.requests += requests
    sum.failures += failures
    sums.set(id, sum)
  }
  return sums
}

/** With the boxes of the least busy gathered into one. */
function gathered(steps: readonly Step[], column: 0 | 1 | 2, others: (count: number) => string): Step[] {
  const busiest = [...sumsOf(steps, column)].toSorted(([, one], [, other]) => other.requests - one.requests)
  if (busiest.length <= boxesMost) return [...steps]
  const shown = new Set(busiest.slice(0, boxesMost - 1).map(([id]) => id))
  const rest: Spot = { id: othersId, name: others(busiest.length - shown.size) }
  return steps.map((step) => {
    const boxes: [Spot, Spot, Spot] = [...step.boxes]
    if (!shown.has(boxes[column].id)) boxes[column] = rest
    return { ...step, boxes }
  })
}

function boxesOf(steps: readonly Step[], column: 0 | 1 | 2, unit: number): Box[] {
  let y = 0
  const busiest = [...sumsOf(steps, column)].toSorted(([, one], [, other]) => other.requests - one.requests)
  return busiest.map(([id, sum]) => {
    const height = Math.max(2, sum.requests * unit)
    const slot = Math.max(slotLeast, height)
    const box = { id, column, ...sum, y: y + (slot - height) / 2, height }
    y += slot + slotGap
    return box
  })
}

function bandPath(column: number, from: number, to: number, thick: number): string {
  const left = (columnsX[column] ?? 0) + boxWidth
  const right = columnsX[column + 1] ?? 0
  const middle = (left + right) / 2
  const line = (y1: number, y2: number): string => `${middle},${y1} ${middle},${y2}`
  return `M${left},${from} C${line(from, to)} ${right},${to} L${right},${to + thick} C${line(to + thick, from + thick)} ${left},${from + thick} Z`
}

function bandsOf(steps: readonly Step[], boxes: readonly Box[], column: 0 | 1, unit: number): Band[] {
  const next = column === 0 ? 1 : 2
  const pairs = new Map<string, { from: string; to: string; requests: number; failures: number }>()
  for (const { boxes: spots, requests, failures } of steps) {
    const [from, to] = [spots[column].id, spots[next].id]
    const name = JSON.stringify([from, to])
    const pair = pairs.get(name) ?? { from, to, requests: 0, failures: 0 }
    pair.requests += requests
    pair.failures += failures
    pairs.set(name, pair)
  }
  const place = (id: string, at: number): number =>
    boxes.findIndex((box) => box.id === id && box.column === at)
  // In the order of their boxes on both sides, so that bands cross as little as they can.
  const ordered = [...pairs.values()].toSorted(
    (one, other) =>
      place(one.from, column) - place(other.from, column) || place(one.to, next) - place(other.to, next),
  )
  const used = new Map<string, number>()
  const take = (id: string, at: number, height: number): number => {
    const name = `${at} ${id}`
    const before = used.get(name) ?? 0
    used.set(name, before + height)
    return (boxes[place(id, at)]?.y ?? 0) + before
  }
  return ordered.map(({ from, to, requests, failures }) => {
    const [whole, bad] = [requests * unit, failures * unit]
    const [y1, y2] = [take(from, column, whole), take(to, next, whole)]
    return {
      id: `${column} ${from} ${to}`,
      from: `${column} ${from}`,
      to: `${next} ${to}`,
      good: bandPath(column, y1, y2, whole - bad),
      bad: failures === 0 ? '' : bandPath(column, y1 + whole - bad, y2 + whole - bad, Math.max(bad, 1)),
    }
  })
}

/** `others`: what a box is called that stands for so many. */
export function shapeOf(steps: readonly Step[], others: (count: number) => string): Shape {
  const total = steps.reduce((sum, { requests }) => sum + requests, 0)
  const unit = wholeHeight / Math.max(1, total)
  const columns = [0, 1, 2] as const
  const shown = columns.reduce<readonly Step[]>((before, column) => gathered(before, column, others), steps)
  const boxes = columns.flatMap((column) => boxesOf(shown, column, unit))
  const bands = [...bandsOf(shown, boxes, 0, unit), ...bandsOf(shown, boxes, 1, unit)]
  const height = Math.max(...boxes.map((box) => box.y + Math.max(box.height, slotLeast)))
  return { boxes, bands, height }
}
