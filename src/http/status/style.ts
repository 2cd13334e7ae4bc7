/** The status page's style: inline, allowed by its hash. Colours have a contrast of at least 4.5 in both modes. */
import { createHash } from 'node:crypto'

export const statusStyle = `
:root{color-scheme:light dark;--ground:#fff;--card:#f6f7f9;--text:#1a1d21;--faint:#565d66;--line:#d5d9de;--good:#1a7f37;--fair:#8a6100;--poor:#b14a00;--bad:#c21d2c;--none:#c3c8ce}
@media(prefers-color-scheme:dark){:root{--ground:#121417;--card:#1b1e23;--text:#e8eaed;--faint:#a5adb7;--line:#333941;--good:#3fb950;--fair:#d8a52a;--poor:#f0883e;--bad:#ff6b70;--none:#3a4048}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:52rem;padding:1rem;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,"PingFang SC","Microsoft YaHei",sans-serif}
header,.line{display:flex;flex-wrap:wrap;gap:.25rem 1rem;justify-content:space-between;align-items:baseline}
h1{font-size:1.4rem;margin:.5rem 0}h2{font-size:1.1rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
a{color:inherit}ul{list-style:none;margin:0;padding:0}p{margin:.25rem 0;overflow-wrap:anywhere;white-space:pre-line}
code{overflow-wrap:anywhere}.small{font-size:.85rem;color:var(--faint)}
.overall{font-size:1.15rem;font-weight:600;padding:.75rem 1rem;border-radius:.5rem;background:var(--card);border-left:.4rem solid}
.badge{font-weight:600;white-space:nowrap}
.up,.good{color:var(--good)}.degraded,.fair{color:var(--fair)}.poor{color:var(--poor)}.down,.bad{color:var(--bad)}.none{color:var(--none)}
.model{padding:.75rem 0;border-top:1px solid var(--line)}
.days{display:flex;gap:1px;height:1.75rem;margin:.35rem 0}
.days i{flex:1 1 0;min-width:0;background:currentColor;border-radius:1px}
.days .fair{height:85%;align-self:end}.days .poor{height:70%;align-self:end}.days .bad{height:50%;align-self:end}.days .none{height:25%;align-self:end}
.incident{padding:.75rem 1rem;margin:.5rem 0;border-radius:.5rem;background:var(--card);border-left:.4rem solid var(--fair)}
.incident.critical{border-color:var(--bad)}.incident.major{border-color:var(--poor)}
.incident li{margin-top:.5rem}footer{margin:2rem 0}
`

/** Allows this style only: no scripts, images, frames or other origins. */

export const statusContentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(statusStyle).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
