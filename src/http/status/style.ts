/** The style of the status page, in the frame of all public pages. */
export const statusStyle = `
:root{--good:#1a7f37;--fair:#8a6100;--poor:#b14a00;--bad:#c21d2c;--none:#c3c8ce}
@media(prefers-color-scheme:dark){:root{--good:#3fb950;--fair:#d8a52a;--poor:#f0883e;--bad:#ff6b70;--none:#3a4048}}
.overall{font-size:1.15rem;font-weight:600;padding:.75rem 1rem;border-radius:.5rem;background:var(--card);border-left:.4rem solid}
.badge{font-weight:600;white-space:nowrap}
.up,.good{color:var(--good)}.degraded,.fair{color:var(--fair)}.poor{color:var(--poor)}.down,.bad{color:var(--bad)}.none{color:var(--none)}
.model{padding:.75rem 0;border-top:1px solid var(--line)}
.days{display:flex;gap:1px;height:1.75rem;margin:.35rem 0}
.days i{flex:1 1 0;min-width:0;background:currentColor;border-radius:1px}
.days .fair{height:85%;align-self:end}.days .poor{height:70%;align-self:end}.days .bad{height:50%;align-self:end}.days .none{height:25%;align-self:end}
.incident{padding:.75rem 1rem;margin:.5rem 0;border-radius:.5rem;background:var(--card);border-left:.4rem solid var(--fair)}
.incident.critical{border-color:var(--bad)}.incident.major{border-color:var(--poor)}
.incident li{margin-top:.5rem}
`
