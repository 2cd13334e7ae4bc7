/** The icons, drawn with one line on a 16 by 16 grid. They always come with a text or a label. */

const paths = {
  alert: 'M8 2.5 14 13H2L8 2.5ZM8 6.5v3M8 11.3v.2',
  archive: 'M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.5h3',
  bell: 'M4 11V7a4 4 0 0 1 8 0v4l1.2 1.5H2.8L4 11ZM6.7 14.2h2.6',
  book: 'M3 3.2c2-.7 3.7-.5 5 .6 1.3-1.1 3-1.3 5-.6v9.3c-2-.6-3.7-.4-5 .7-1.3-1.1-3-1.3-5-.7V3.2ZM8 3.8v9.4',
  chart: 'M2.5 13.5h11M4.5 11V7.5M8 11V3.5M11.5 11V6',
  check: 'm3 8.5 3.3 3.3L13 5',
  chevron: 'm6 3.5 4.5 4.5L6 12.5',
  close: 'm4 4 8 8M12 4l-8 8',
  cog: 'M8 5.7a2.3 2.3 0 1 0 0 4.6 2.3 2.3 0 0 0 0-4.6ZM8 2v1.6M8 12.4V14M2 8h1.6M12.4 8H14M3.8 3.8l1.1 1.1M11.1 11.1l1.1 1.1M12.2 3.8l-1.1 1.1M4.9 11.1l-1.1 1.1',
  copy: 'M5.5 5.5h7v8h-7zM3.5 10.5v-8h7',
  cube: 'm8 2 5.5 3v6L8 14l-5.5-3V5L8 2ZM2.5 5 8 8l5.5-3M8 8v6',
  dot: 'M8 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3Z',
  dots: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  download: 'M8 2.5v7.5M5 7.2 8 10l3-2.8M3 13.5h10',
  flag: 'M4 14V2.5M4 3h8l-1.8 2.8L12 8.5H4',
  gauge: 'M2.5 12a6 6 0 1 1 11 0M8 10.5l2.5-3.7',
  globe:
    'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM2 8h12M8 2c2 2 2.6 4 2.6 6S10 12 8 14C6 12 5.4 10 5.4 8S6 4 8 2Z',
  home: 'm2.5 7.5 5.5-5 5.5 5M4 6.5v7h8v-7',
  info: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM8 7.3v3.5M8 5.1v.1',
  key: 'M10.5 2.5a3 3 0 1 0-2.6 4.6L3 12v1.5h2.5V12H7v-1.5l2.1-2.1a3 3 0 0 0 1.4-5.9ZM10.6 5.3h.1',
  layers: 'm8 2.5 6 3-6 3-6-3 6-3ZM2.5 8.2 8 11l5.5-2.8M2.5 10.9 8 13.7l5.5-2.8',
  ledger: 'M3.5 2h9v12h-9zM6 5h4M6 8h4M6 11h2',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.1M2.5 8h.1M2.5 12h.1',
  megaphone: 'M3 6.5v3h2.2L11 13V3L5.2 6.5H3ZM13 6.3v3.4',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5Z',
  out: 'M9.5 3h-6v10h6M7 8h7M11.5 5.5 14 8l-2.5 2.5',
  person: 'M8 2.5a2.7 2.7 0 1 0 0 5.4 2.7 2.7 0 0 0 0-5.4ZM2.8 13.5c.5-2.5 2.5-3.6 5.2-3.6s4.7 1.1 5.2 3.6',
  palette:
    'M8 2a6 6 0 1 0 0 12c1.2 0 1.5-.8 1-1.7-.6-1-.1-2.1 1.1-2.1h1.7c1.3 0 2.2-1 2.2-2.4C14 4.6 11.3 2 8 2ZM5 8.2h.1M6.3 5.3h.1M9.7 5h.1',
  people:
    'M6 3a2.3 2.3 0 1 0 0 4.6A2.3 2.3 0 0 0 6 3ZM1.8 13c.4-2.3 2-3.3 4.2-3.3s3.8 1 4.2 3.3M10.5 3.3a2.2 2.2 0 0 1 0 4M12 9.9c1.3.4 2 1.5 2.3 3.1',
  play: 'M4.5 3v10l8-5-8-5Z',
  plus: 'M8 3v10M3 8h10',
  refresh: 'M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3',
  scroll: 'M4.5 2.5h8v9a2 2 0 0 1-2 2h-7a2 2 0 0 0 2-2v-9M7.5 5.5h2.5M7.5 8.5h2.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.3 10.3l3.2 3.2',
  server: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9',
  tag: 'M2.5 2.5h5l6 6-5 5-6-6v-5ZM5.3 5.3h.1',
  ticket: 'M2 5h12v2a1 1 0 0 0 0 2v2H2V9a1 1 0 0 0 0-2V5ZM9.5 5v6',
  wallet: 'M2.5 4.5h10v9h-10zM2.5 4.5l8-2v2M10 9h.1M12.5 7.5h1.2v3h-1.2',
} as const

export type IconName = keyof typeof paths

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
