/** The status page: one document without scripts, readable in light and dark, on a phone and aloud. */
import type { Incident } from '../../health/incidents.ts'
import type { Language } from '../../notifications/locales/notification-texts.ts'
import { percentOf, type PublicStatus, type State, type StatusAddress, type StatusModel } from './state.ts'
import { statusStyle } from './style.ts'
import { statusWords, textOfPost, titleOf, type StatusWords } from './locales.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** For HTML and XML; characters that XML has no place for are left out. */
export function escaped(text: string): string {
  // eslint-disable-next-line no-control-regex -- these are the characters that XML 1.0 forbids
  const allowed = text.replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g, '')
  return allowed.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}

/** Colour is never alone: a state has its sign and its word. */
const signs: Readonly<Record<State, string>> = { up: '✓', degraded: '!', down: '✕' }

function levelOf(success: number | null, objective: number): string {
  if (success === null) return 'none'
  if (success >= objective) return 'good'
  if (success >= 0.99) return 'fair'
  return success >= 0.95 ? 'poor' : 'bad'
}

function percentText(success: number | null, words: StatusWords): string {
  return success === null ? words.noData : `${percentOf(success)} %`
}

function timeText(ms: number): string {
  const iso = new Date(ms).toISOString()
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`
}

function badge(state: State, text: string): string {
  return `<span class="badge ${state}"><span aria-hidden="true">${signs[state]}</span> ${escaped(text)}</span>`
}

function modelRow({ id, state, success, objective, days }: StatusModel, words: StatusWords): string {
  const bars = days.map(
    (day) =>
      `<i class="${levelOf(day.success, objective)}" title="${day.date}: ${escaped(percentText(day.success, words))}"></i>`,
  )
  const share = percentText(success, words)
  return `<li class="model"><div class="line"><h3>${escaped(id)}</h3>${badge(state, words.states[state])}</div>
<div class="days" role="img" aria-label="${escaped(words.days(share))}">${bars.join('')}</div>
<div class="line small"><span>${escaped(words.daysAgo)}</span><strong>${escaped(share)}</strong><span>${escaped(words.today)}</span></div></li>`
}

function incidentBlock(incident: Incident, words: StatusWords): string {
  const { models, openedAt, closedAt, severity, status, posts } = incident
  const touched = models.length === 0 ? words.wholeService : models.join(', ')
  const period = `${timeText(openedAt)}${closedAt === null ? '' : ` – ${timeText(closedAt)}`}`
  const told = posts.map(
    (post) =>
      `<li><strong>${escaped(words.status[post.status])}</strong> ${timeText(post.at)}<p>${escaped(textOfPost(post, words))}</p></li>`,
  )
  return `<article class="incident ${severity}"><h3>${escaped(titleOf(incident, words))}</h3>
<p class="small">${escaped(words.status[status])} · ${escaped(words.severity[severity])} · ${escaped(touched)} · ${period}</p>
<ul>${told.join('')}</ul></article>`
}

function addressRow({ url, isWell }: StatusAddress, words: StatusWords): string {
  const state = isWell === null ? '' : badge(isWell ? 'up' : 'down', isWell ? words.up : words.down)
  return `<li class="line"><code>${escaped(url)}</code>${state}</li>`
}

function section(title: string, content: string): string {
  return `<section><h2>${escaped(title)}</h2>${content}</section>`
}

export function statusPage(status: PublicStatus, language: Language): string {
  const words = statusWords[language]
  const other: Language = language === 'en' ? 'zh-CN' : 'en'
  const open = status.incidents.filter(({ closedAt }) => closedAt === null)
  const past = status.incidents.filter(({ closedAt }) => closedAt !== null)
  const blocks = (incidents: readonly Incident[]): string =>
    incidents.map((incident) => incidentBlock(incident, words)).join('\n')
  const models = status.models.map((model) => modelRow(model, words)).join('\n')
  const addresses = status.addresses.map((address) => addressRow(address, words)).join('')
  return `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>${escaped(words.overall[status.state])} – ${escaped(words.title)}</title>
<link rel="alternate" type="application/rss+xml" href="/status.rss?lang=${language}" title="${escaped(words.title)}">
<style>${statusStyle}</style></head>
<body><header><h1>${escaped(words.title)}</h1><nav><a href="/status?lang=${other}" hreflang="${other}" lang="${other}">${escaped(words.otherLanguage)}</a> <a href="/status.rss?lang=${language}">RSS</a> <a href="/status.json?lang=${language}">JSON</a></nav></header>
<main><p class="overall ${status.state}"><span aria-hidden="true">${signs[status.state]}</span> ${escaped(words.overall[status.state])}</p>
${open.length > 0 ? section(words.open, blocks(open)) : ''}
${section(words.models, status.models.length > 0 ? `<ul class="models">${models}</ul><p class="small">${escaped(words.explained)}</p>` : `<p>${escaped(words.noModels)}</p>`)}
${section(words.addresses, `<ul>${addresses}</ul>`)}
${section(words.past, past.length > 0 ? blocks(past) : `<p>${escaped(words.noPast)}</p>`)}
</main><footer class="small">${escaped(words.updated)} ${timeText(status.at)}</footer></body></html>
`
}
