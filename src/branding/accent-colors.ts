/**
 * The operator's accent colour, one for the light and one for the dark theme: no colour is readable on the backgrounds of
 * both. Contrast as in WCAG 2.2.
 */
import { invalidField } from '../errors.ts'

/** `#rrggbb`, in lower case. */
export interface AccentColors {
  readonly light: string
  readonly dark: string
}

type Theme = keyof AccentColors
type Rgb = readonly [number, number, number]

/** What coloured text stands on: those of console/styles/theme.css and of the public pages. */
export const backgrounds: Readonly<Record<Theme, readonly string[]>> = {
  light: ['#ffffff', '#f6f7f8', '#f1f3f5', '#f3f6f8', '#f6f7f9'],
  dark: ['#0e1113', '#14181b', '#1a1f23', '#101416', '#1b2125', '#121417', '#1b1e23'],
}
const surfaces = { light: '#ffffff', dark: '#14181b' } as const
/** Text on a tinted background moves away from it. */
const textEnds = { light: '#000000', dark: '#ffffff' } as const
const minContrast = 4.5

function parseHex(color: string): Rgb {
  const value = Number.parseInt(color.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

/** `share` of the second colour in the first. */
function mix(first: string, second: string, share: number): string {
  const [from, to] = [parseHex(first), parseHex(second)]
  const channels = from.map((value, at) => Math.round(value + ((to[at] ?? 0) - value) * share))
  return `#${channels.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

/** Of the channels of sRGB. */
const weights: Rgb = [0.2126, 0.7152, 0.0722]

function luminance(color: string): number {
  const linear = parseHex(color).map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return linear.reduce((sum, value, channel) => sum + value * (weights[channel] ?? 0), 0)
}

/** From 1 to 21. */
export function contrast(left: string, right: string): number {
  const [lighter = 0, darker = 0] = [luminance(left), luminance(right)].toSorted((one, other) => other - one)
  return (lighter + 0.05) / (darker + 0.05)
}

function cleanColor(theme: Theme, text: string): string {
  const param = `colors.${theme}`
  const color = text.trim().toLowerCase()
  if (!/^#[0-9a-f]{6}$/.test(color)) throw invalidField(param, 'must be a colour such as "#0b6a84"')
  const least = Math.min(...backgrounds[theme].map((background) => contrast(color, background)))
  if (least >= minContrast) return color
  // Rounded down, so that a rejected figure is never shown as enough.
  const figure = Math.floor(least * 100) / 100
  const reason = `must have a contrast of at least ${minContrast} on the backgrounds of the ${theme} theme, and has ${figure}`
  throw invalidField(param, reason)
}

/** Throws 400 naming the colour, and its contrast if that is too low. */
export function cleanColors({ light, dark }: AccentColors): AccentColors {
  return { light: cleanColor('light', light), dark: cleanColor('dark', dark) }
}

/** The variants of a colour: `strong` is readable on the tinted backgrounds `soft` and `softHover`. */
export function shadesOf(theme: Theme, color: string) {
  return {
    color,
    strong: mix(color, textEnds[theme], 0.25),
    soft: mix(surfaces[theme], color, 0.1),
    softHover: mix(surfaces[theme], color, 0.16),
  }
}

/**
 * The lightest tint of the light theme's colour that carries white text: on the dark theme's surfaces, buttons of a dark
 * colour would not be seen.
 */
export function darkFilled(light: string): string {
  for (let share = 1; share > 0; share -= 0.01) {
    const tint = mix(light, '#ffffff', share)
    if (contrast(tint, '#ffffff') >= minContrast) return tint
  }
  return light
}

/** A style sheet with the colours as custom properties; empty without colours. */
export function renderAccentStyle(colors: AccentColors | null): string {
  if (colors === null) return ''
  const themes = (['light', 'dark'] as const).map((theme) => {
    const { color, strong, soft, softHover } = shadesOf(theme, colors[theme])
    const name = `--brand-${theme}`
    return `${name}:${color};${name}-strong:${strong};${name}-soft:${soft};${name}-soft-hover:${softHover}`
  })
  const filled = `--brand-dark-filled:${darkFilled(colors.light)};--brand-dark-filled-hover:${colors.light}`
  return `:root{${themes.join(';')};${filled}}\n`
}
