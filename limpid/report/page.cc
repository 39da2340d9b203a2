#include "limpid/report/page.h"

#include <fmt/format.h>

#include "limpid/report/chart.h"
#include "limpid/report/html.h"

namespace limpid::report {
namespace {

constexpr std::string_view kStyle =
    R"(:root { color-scheme: light dark; --page: #fff; --card: #f5f6f8; --text: #1c1f23; --soft: #5c6470; --line: #dfe3e8; --heat: 0 114 178; --error: #b3261e; --warning: #8a5a00; --info: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --card: #1f2429; --text: #e8eaed; --soft: #a3abb5; --line: #343b43; --heat: 74 168 224; --error: #ff8a80; --warning: #ffc861; --info: #8ec5ff; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 70rem; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .75rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
p { margin: .25rem 0; }
.soft { color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1.25rem 0 0; padding: 0; }
.tiles div { background: var(--card); border-radius: .5rem; padding: .6rem .8rem; }
.tiles dt { color: var(--soft); font-size: .85rem; }
.tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1.75rem 2rem; }
figcaption { font-weight: 600; margin-bottom: .25rem; }
.finding { border-left: .3rem solid var(--info); background: var(--card); border-radius: 0 .5rem .5rem 0; padding: .6rem .9rem; margin: .6rem 0; }
.finding.error { border-color: var(--error); } .finding.warning { border-color: var(--warning); }
.finding h3 { margin: 0 0 .25rem; font-size: 1rem; }
.finding h3 span { color: var(--info); } .finding.error h3 span { color: var(--error); } .finding.warning h3 span { color: var(--warning); }
.finding dl { margin: 0; display: grid; grid-template-columns: max-content 1fr; gap: .1rem .75rem; }
.finding dt { color: var(--soft); } .finding dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child, .left { text-align: left; }
.confusion td, .confusion th { padding: .3rem; text-align: center; min-width: 2.4rem; border: 1px solid var(--line); }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr)); gap: 1rem; }
.mistakes figure { margin: 0; font-size: .85rem; } .mistakes figcaption { font-weight: 400; margin: .3rem 0 0; }
.mistakes img { width: 100%; image-rendering: pixelated; border: 1px solid var(--line); display: block; }
pre { background: var(--card); border-radius: .5rem; padding: .75rem; overflow-x: auto; font-size: .85rem; white-space: pre-wrap; overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; } .chart, .finding, tr { break-inside: avoid; } .wide { overflow: visible; } }
)";

}  // namespace

std::string page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
      "name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n{}</body>\n"
      "</html>\n",
      escaped(title), kStyle, chart_style(), body);
}

std::string section(std::string_view title, const std::string& content) {
  return content.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", title, content);
}

std::string table(std::string_view kind, const Cells& heading, const std::vector<Cells>& rows) {
  std::string text = fmt::format("<div class=\"wide\"><table class=\"{}\"><thead><tr>", kind);
  for (const std::string& cell : heading) text += fmt::format("<th>{}</th>", cell);
  text += "</tr></thead><tbody>\n";
  for (const Cells& row : rows) {
    text += "<tr>";
    for (const std::string& cell : row)
      text += cell.starts_with("<t") ? cell : fmt::format("<td>{}</td>", cell);
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace limpid::report
