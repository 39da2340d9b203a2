// Chat templates, rendered with two messages.
#include "limpid/data/chat/chat_template.h"

#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void read(std::span<const std::byte> bytes) {
  const Json messages = Json::array({Json{{"role", "system"}, {"content", " a\n"}},
                                     Json{{"role", "user"}, {"content", "\xe2\x80\x83<|end|>"}}});
  ChatTemplate(text_of(bytes))
      .render({{"messages", messages}, {"add_generation_prompt", true}, {"bos_token", "<s>"}});
}

std::vector<Bytes> seeds() {
  return {
      bytes_of("{% for m in messages %}{{ '<|' + m['role'] + '|>\n' + m['content'] | trim }}"
               "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"),
      bytes_of("{#- a -#}\n  {%- set x = messages[1:] %}\n{% for m in x %}{% if loop.first and "
               "m.role in ['user', \"tool\"] or not m.content is defined -%} {{ loop.index0 % 2 "
               "== 0 }}{{ m | tojson }}{% elif x | length > 1 %}{{ raise_exception('no') }}"
               "{% else %}{{ (1 if m else -2) ~ m.content.strip() }}{%+ endif +%}{% endfor %}"),
      bytes_of("{% macro f(a, b={'k': [1]}) %}{% for k, v in b.items() if k != 'x' %}{{ k ~ v[0] }}"
               "{{ ', ' if not loop.last }}{% endfor %}{% if a > 0 %}{{ f(a - 1, b=b) }}{% endif %}"
               "{% endmacro %}{% set ns = namespace(n=0, l=[]) %}{% for m in messages[::-1] %}"
               "{% set ns.n = ns.n + 1 %}{% set ns.l = ns.l + [(m.role, ns.n)] %}{% endfor %}"
               "{{ f(ns.n) }}{{ ns.l | tojson(indent=2) }}{{ messages | selectattr('role', "
               "'equalto', 'user') | list == messages[1:] }}")};
}

std::vector<std::string> words() {
  return {"{%",         "{%-",         "%}",     "-%}",      "{{",       "}}",         "{#",
          "#}",         " if ",        " else ", " elif ",   " endif ",  " for ",      " in ",
          " endfor ",   " set ",       " not ",  " and ",    " or ",     " is ",       "loop.",
          "first",      "last",        "index0", "messages", "| trim",   "| tojson",   "| length",
          "[0]",        "[1:]",        "[-1]",   ".role",    ".strip()", "none",       "true",
          "defined",    "//",          "%",      "~",        "==",       " macro ",    "f(",
          " endmacro ", "namespace(",  "ns.n",   " = ",      "{'a': ",   ".items()",   "| items",
          "| list",     "| join(',')", "[::-1]", "k, v",     "| select", "is mapping", ", "};
}

}  // namespace

const Target& chat_template() {
  static const Target target{"chat_template", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
