// Chat templates: those of well-known models, and what is refused. The expected texts are Jinja's
// (3.1.6, trim_blocks and lstrip_blocks set).
#include "limpid/data/chat/chat_template.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>

#include <sstream>
#include <string>

#include "limpid/formats/file.h"
#include "tests/formats/helpers.h"
#include "tests/refusals.h"
#include "tests/source_folder.h"

namespace limpid {
namespace {

Json message(const char* role, const char* content) {
  return {{"role", role}, {"content", content}};
}

Json variables(Json messages) {
  return {{"messages", std::move(messages)},
          {"add_generation_prompt", true},
          {"bos_token", "<s>"},
          {"eos_token", "</s>"}};
}

// With a system message, or without.
std::string rendered(std::string_view source, bool system = true) {
  Json messages = Json::array();
  if (system) messages.push_back(message("system", "Be brief."));
  messages.push_back(message("user", " Hi \n"));
  messages.push_back(message("assistant", "Yes."));
  messages.push_back(message("user", "Why?"));
  return ChatTemplate(source).render(variables(std::move(messages)));
}

TEST(ChatTemplate, VariablesAreNestedSixtyFourDeep) {
  const auto with = [](int depth) {
    Json list = Json::array();
    for (int i = 1; i < depth; ++i) {
      Json outer = Json::array();
      outer.push_back(std::move(list));
      list = std::move(outer);
    }
    return ChatTemplate("{{ x | length }}").render(Json{{"x", std::move(list)}});
  };
  EXPECT_EQ(with(1), "0");
  EXPECT_EQ(with(64), "1");
  expect_refused(ErrorCode::kUnsupported, [&] { with(65); });
}

TEST(ChatTemplate, NumbersThatCountAsFalse) {
  const ChatTemplate shown("{% for m in messages %}{{ 'true' if m.x else 'false' }} {% endfor %}");
  const Json messages = Json::parse(R"([{"x":0},{"x":0.0},{"x":-0.0},{"x":1e-400},{"x":0.5}])");
  EXPECT_EQ(shown.render(variables(messages)), "false false false false true ");
}

TEST(ChatTemplate, ChatMl) {
  EXPECT_EQ(
      rendered("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' "
               "%}{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif "
               "%}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
               "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% "
               "endif %}",
               false),
      "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n Hi "
      "\n<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_"
      "start|>assistant\n");
}

constexpr std::string_view kLlama2 =
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set "
    "system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set "
    "system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] "
    "== 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate "
    "user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != "
    "false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + "
    "message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if "
    "message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif "
    "message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% "
    "endfor %}";

TEST(ChatTemplate, Llama2) {
  EXPECT_EQ(rendered(kLlama2),
            "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Yes. </s><s>[INST] Why? "
            "[/INST]");
  EXPECT_EQ(rendered(kLlama2, false), "<s>[INST] Hi [/INST] Yes. </s><s>[INST] Why? [/INST]");
  const Json twice = Json::array({message("user", "a"), message("user", "b")});
  expect_refused(ErrorCode::kInvalidArgument,
                 [&] { ChatTemplate(kLlama2).render(variables(twice)); });
}

TEST(ChatTemplate, Llama3) {
  EXPECT_EQ(
      rendered("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content "
               "= '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ "
               "message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content "
               "= bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if "
               "add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' "
               "}}{% endif %}"),
      "<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user"
      "<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nYes."
      "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|><|start_header_id|>"
      "assistant<|end_header_id|>\n\n");
}

TEST(ChatTemplate, Zephyr) {
  EXPECT_EQ(rendered("{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ "
                     "'<|user|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == "
                     "'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif "
                     "message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + "
                     "message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and "
                     "add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}"),
            "<|system|>\nBe brief.</s>\n<|user|>\n Hi "
            "\n</s>\n<|assistant|>\nYes.</s>\n<|user|>\nWhy?</s>\n<|assistant|>\n");
}

TEST(ChatTemplate, Gemma) {
  EXPECT_EQ(
      rendered("{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System "
               "role not supported') }}{% endif %}{% for message in messages %}{% if "
               "(message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('no') "
               "}}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% "
               "else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + "
               "'\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if "
               "add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}",
               false),
      "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYes.<end_of_turn>\n<start_of_"
      "turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n");
}

TEST(ChatTemplate, WhiteSpaceAndOperatorsAreJinjas) {
  EXPECT_EQ(rendered("{#- a comment -#}\n{%- for m in messages %}\n    {%- if m.role in ['user', "
                     "\"assistant\"] and m.content is not none -%}\n  [{{ m.role }}] {{ m.content "
                     "| tojson }} {{ loop.index }}/{{ loop.length }}\n    {%- elif not m.content "
                     "%}\n  empty\n    {%- else %}\n  {{- m.content | length ~ ':' ~ (m.content if "
                     "m.content is string else 'x') }}\n    {% endif %}\n{% endfor %}\n{{ "
                     "bos_token if bos_token is defined else 'none' }}{{ missing }}{{ 7 // 2 }} {{ "
                     "-7 % 3 }} {{ 2 + 3 * 4 - 1 }}{{ 'a' if false }}\n\n"),
            "9:Be brief.\n[user] \" Hi \\n\" 2/4[assistant] \"Yes.\" 3/4[user] \"Why?\" "
            "4/4<s>3 2 13\n");
  EXPECT_EQ(rendered("a\r\n  {% if true +%}\r\n  b\n  {%+ endif %}\t{#- c #}\n  {{ 1 }}\n"),
            "a\n\n  b\n    1");
  EXPECT_EQ(rendered("  {% if true %}\n  {% if true %}\n  x\n  {% endif %}\n{% endif %}"), "  x\n");
  // A variable set in one loop iteration is gone in the next.
  EXPECT_EQ(rendered("{% set x = 0 %}{% for m in messages %}{{ x }}{% set x = loop.index %}{{ x }}"
                     "{% endfor %}{{ x }}"),
            "010203040");
  // The element that was read ahead to tell the last one counts.
  EXPECT_EQ(rendered("{% for m in messages if m.role != 'system' %}{{ loop.last }}{{ loop.length }}"
                     "{% endfor %}"),
            "False3False3True3");
  EXPECT_EQ(rendered("{{ messages[-1].content }}{{ messages[9] }}{{ messages[1:2][0].role }}"
                     "{{ true }}{{ none }}{{ not 1 == 2 }}{{ 'i' in 'Hi' }}{{ 2 not in [1, '2'] }}"
                     "{{ 1 if none else 2 }}"),
            "Why?userTrueNoneTrueTrueTrue2");
  EXPECT_EQ(rendered("{{ '\x01\x1f\x7f' | tojson }}"), "\"\\u0001\\u001f\x7f\"");
  EXPECT_EQ(rendered("[{{ '\u3000 \u00a0x\u2003\t' | trim }}]"), "[x]");
  // A tag is alone on its line only where no output stands before it.
  EXPECT_EQ(rendered("{{ 1 }}  {% if true %}x{% endif %}"), "1  x");
}

TEST(ChatTemplate, NumbersAndTextsAtTheirEdgesAreJinjas) {
  // Quotients are rounded down, remainders have the sign of the divisor.
  EXPECT_EQ(rendered("{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 // -2 }} {{ -7 // -2 }} {{ -6 // 2 }} "
                     "{{ 7 % -3 }} {{ -7 % -3 }}"),
            "3 -4 -4 3 -3 -2 -1");
  EXPECT_EQ(rendered("{{ 1 <= 1 }} {{ 2 <= 1 }} {{ 1 >= 1 }} {{ 1 < 1 }} {{ 'a' <= 'a' }}"),
            "True False True False True");
  // Python's white space has more characters than C's.
  EXPECT_EQ(rendered("[{{ '\x1c\x1d x\x1e\x1f' | trim }}]"), "[x]");
  EXPECT_EQ(rendered(R"([{{ 'a\r\n\tb' }}])"), "[a\r\n\tb]");
  EXPECT_EQ(rendered("a\rb\r\nc\r"), "a\nb\nc");
  // Python has the quotient of these, a template has no number for it.
  for (const char* const sign : {"//", "%"})
    expect_refused(ErrorCode::kInvalidArgument, [&] {
      rendered(fmt::format("{{{{ (-9223372036854775807 - 1) {} -1 }}}}", sign));
    });
}

TEST(ChatTemplate, AllWhiteSpaceOfPythonIsTrimmed) {
  for (const char* space : {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003",
                            "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                            "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"})
    EXPECT_EQ(rendered(fmt::format("[{{{{ '{0}x{0}' | trim }}}}]", space)), "[x]") << space;
  for (const char* other : {"\u0084", "\u00a1", "\u200b", "\u202a", "\u3001"})
    EXPECT_EQ(rendered(fmt::format("{{{{ '{}' | trim }}}}", other)), other);
}

TEST(ChatTemplate, IntegersHave64Bits) {
  EXPECT_EQ(rendered("{{ -9223372036854775807 - 1 }} {{ 3037000499 * 3037000499 }}"),
            "-9223372036854775808 9223372030926249001");
  for (const char* source : {"{{ -9223372036854775807 - 2 }}", "{{ 3037000500 * 3037000500 }}"})
    expect_refused(ErrorCode::kInvalidArgument, [&] { rendered(source); });
}

TEST(ChatTemplate, TestsFiltersAndMethodsHaveJinjasNames) {
  EXPECT_EQ(rendered("{{ 1 is eq 1 }} {{ 1 is equalto 2 }} {{ 1 is ne 2 }} {{ 1 is ne 1 }} "
                     "{{ [1, 2, 1] | select('==', 1) | list | length }} "
                     "{{ [1, 2, 1] | select('!=', 1) | list | length }}"),
            "True False True False 2 1");
  EXPECT_EQ(rendered("{{ messages | count }} {{ missing | d('x') }} {{ '' | d('x') }}"
                     "[{{ '' | default('x', true) }}{{ '' | default('x', false) }}] "
                     "{{ missing | d }}|"),
            "4 x [x] |");
  EXPECT_EQ(rendered("{{ 'abc'.startswith('ab') }} {{ 'abc'.startswith('bc') }} "
                     "{{ 'abc'.endswith('bc') }} {{ 'abc'.endswith('ab') }}"),
            "True False True False");
  EXPECT_EQ(rendered("{{ True }} {{ False }} {{ None }} {{ true is true }} {{ false is false }} "
                     "{{ 1 is false }} {{ false is true }} {{ true is false }}"),
            "True False None True True False False False");
  EXPECT_EQ(rendered("{{ 'a' is sequence }} {{ [1] is sequence }} {{ 1 is sequence }} "
                     "{{ 1 is number }} {{ 'a' is number }} {{ 1 is integer }} "
                     "{{ true is integer }} {{ {} is mapping }} {{ [] is mapping }} "
                     "{{ [] is iterable }} {{ 1 is iterable }} {{ true is boolean }}"),
            "True True False True False True False True False True False True");
  // A step beyond the end of the numbers ends the slice.
  EXPECT_EQ(rendered("{{ 'abc'[1::9223372036854775807] }}{{ messages | tojson(indent=16) | length "
                     "}}"),
            "b556");
  EXPECT_EQ(rendered("{{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 2) }}"),
            "1 None 2");
  // In brackets, an entry comes before a method of its name.
  EXPECT_EQ(rendered("{{ {'items': 3}['items'] }} {{ {'items': 3}['a'] is defined }}"), "3 False");
  EXPECT_EQ(rendered("{{ ' a  b '.split() | join(',') }} {{ 'a--b-'.split('-') | join(',') }} "
                     "{{ 'xxaxx'.strip('x') }}|{{ 'xxaxx'.lstrip('x') }}|{{ 'xxaxx'.rstrip('x') }}|"
                     "{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}|{{ ' a '.strip(none) }}|"
                     "{{ 'xx'.strip('x') }}|"),
            "a,b a,,b, a|axx|xxa|a | a|a||");
  for (const char* source : {"{{ 'a'.startswith() }}", "{{ 'a'.split('') }}", "{{ {}.get() }}",
                             "{{ 1 in 'a1' }}", "{{ 'a'.startswith(1) }}", "{{ 'a'.strip(1) }}",
                             "{{ 'a'.split(1) }}", "{{ [1] | select(1) | list }}"})
    expect_refused(ErrorCode::kInvalidArgument, [&] { rendered(source); });
}

TEST(ChatTemplate, OperatorsBindAsInJinja) {
  EXPECT_EQ(rendered("{{ 1 if true else 2 if false else 3 }}"), "1");
  EXPECT_EQ(rendered("{% for x in [1, 2, 3] if x > 2 or x < 2 %}{{ x }}{% endfor %}"), "13");
  EXPECT_EQ(rendered("{% for x in [1, 2, 3] if x > 2 if x != 1 else true %}{{ x }}{% endfor %}"),
            "13");
  EXPECT_EQ(rendered("{{ 'a' ~ 2 * 3 }} {{ 2 * 3 ~ 'a' }}"), "a6 6a");
}

TEST(ChatTemplate, BoundsOfSlicesMayBeLeftOut) {
  EXPECT_EQ(rendered("{{ 'abc'[::] }} {{ 'abc'[:] }} {{ 'abc'[1::] }} {{ 'abc'[:2:] }}"),
            "abc abc bc ab");
}

TEST(ChatTemplate, BoundsOfSlicesMayBeNone) {
  EXPECT_EQ(rendered("{{ 'abc'[none:2] }} {{ 'abc'[1:none] }} {{ 'abc'[::none] }}"), "ab bc abc");
  expect_refused(ErrorCode::kInvalidArgument, [] { rendered("{{ 'abc'[::0] }}"); });
  expect_refused(ErrorCode::kInvalidArgument, [] { rendered("{{ 'abc'['a':] }}"); });
}

// Python's generators are true, even of nothing.
TEST(ChatTemplate, IteratorsAreTrue) {
  EXPECT_EQ(rendered("{{ 'yes' if {} | items else 'no' }} {{ 'yes' if [] | select else 'no' }}"),
            "yes yes");
}

// To tell the last element, the next one is read.
TEST(ChatTemplate, LoopsMayBeAskedTwiceWhetherAnElementIsTheLast) {
  EXPECT_EQ(rendered("{% for x in [1, 2, 3] %}{{ loop.last }}{{ loop.last }}{{ x }} {% endfor %}"),
            "FalseFalse1 FalseFalse2 TrueTrue3 ");
}

TEST(ChatTemplate, ValuesThatAreNotThereAreJinjas) {
  EXPECT_EQ(rendered("{{ missing == other }} {{ missing == 1 }} {{ none == missing }}"),
            "True False False");
  EXPECT_EQ(rendered("{{ none | select | list | length }}{{ missing | select | list | length }}"),
            "00");
  EXPECT_EQ(rendered("{% macro f() %}{% endmacro %}{{ f is undefined }} {{ loop is undefined }} "
                     "{{ namespace is undefined }} {{ messages is undefined }}"),
            "False True False False");
  // These have a meaning in macros alone.
  EXPECT_EQ(rendered("{{ caller is defined }} [{{ kwargs }}{{ varargs }}]"), "False []");
}

TEST(ChatTemplate, DictionariesAreEqualIfTheyHaveTheSameMembers) {
  EXPECT_EQ(rendered("{{ {'a': 1} == {'a': 1, 'b': 2} }} {{ {'a': 1, 'b': 2} == {'a': 1} }} "
                     "{{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ {'a': 1} == {'a': 2} }} "
                     "{{ {'a': 1} == {'b': 1} }}"),
            "False False True False False");
}

// What make_chat_templates.py wrote.
TEST(ChatTemplate, TextsAreJinjas) {
  const Tensor file =
      read_file(testing::source_folder() / "tests/data/chat_templates.json", 1 << 20);
  const Json all =
      Json::parse({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
  std::size_t refused = 0;
  for (const Json& one : all.at("cases").elements()) {
    const std::string& source = one.at("source").as_string();
    SCOPED_TRACE(source);
    try {
      const std::string text = ChatTemplate(source).render(all.at("variables"));
      EXPECT_EQ(Json(text), one.at("text"));
    } catch (const Error& error) {
      // Python's notation of lists is not written.
      const bool known = std::string(error.what()).ends_with("to text is not supported");
      EXPECT_TRUE(known || one.at("text").is_null()) << error.what();
      refused += known ? 1 : 0;
    }
  }
  EXPECT_LT(refused, all.at("cases").size() / 20);
}

// The sources between the marks @ of a text; a line ends behind one.
std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '@');)
    all.push_back(part.substr(part.starts_with('\n') ? 1 : 0));
  return all;
}

// Its place is told; whose name, in the messages of a few.
void unsupported(std::string_view source) {
  SCOPED_TRACE(source.substr(0, 60));
  try {
    rendered(source);
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported) << error.what();
    EXPECT_TRUE(std::string_view(error.what()).starts_with("chat template")) << error.what();
  }
}

constexpr const char* kNotKnown = R"(
{{ messages | tojson(ensure_ascii=true) }}@{{ messages | list(1) }}@{{ messages | length(1) }}@
{{ messages[0].items(1) }}@{{ messages[0] | items(1) }}@{{ strftime_now('%Q') }}@{{ strftime_now(1) }}@
{% generation %}{% set x = 1 %}{% endgeneration %}@
{% set a, b = 1, 2 %}@{% set x %}{% endset %}@{% for m in messages recursive %}{% endfor %}@
{% set loop = 1 %}@{% macro loop() %}{% endmacro %}@{% macro f() %}{{ caller() }}{% endmacro %}@
{% macro f() %}{{ varargs }}{% endmacro %}@
{% macro f() %}{% macro g() %}{% endmacro %}{{ kwargs }}{% endmacro %}@
{% macro f() %}{% endmacro %}{% set g = f %}@
{% for m in messages %}{% set l = loop %}{% endfor %}@{{ raise_exception(*messages) }}@
{{ raise_exception('x', a=1) }}@{% set n = namespace({}, {}) %}@
{% for m in messages %}{% else %}{% endfor %}@
{% for m in messages %}{{ loop.previtem }}{% endfor %}@{{ messages[0].items }}@
{{ messages[0].items().mapping }}@{{ 'a'.lower() }}@{{ {1: 2} }}@{{ messages[0].__class__ }}@
{% set n = namespace() %}{{ n._x }}@{{ messages | tojson(indent=17) }}@{{ [] in {} }}@
{{ [] in messages[0].items() }}@{{ [messages[0] | items] | length }}@
{% macro f(x=messages[0] | items) %}{% endmacro %}{{ f() }}@{{ 1 < 2 < 3 }}@{{ 1.5 }}@{{ 007 }}@
{{ -1 | string }}@{{ -1 is number }}@{{ '\x41' }}@{{ x is defined if y }}@{{ messages }}@
{{ messages[0].items() == messages }}@{{ messages.0 }}@{{ messages[0, 1] }}@
{{ messages[0:1, 1] }}@{{ [1](2) }}@{{ {}[1:] }}@{% set x = 1 %}{{ -x }}@
{{ messages | list[0] }}@{{ 'a' | trim.x }}@{{ 'a' is string.x }}@{{ 2 ** 3 }}@{{ 4 / 2 }}@
{{ 1 == 1 in [true] }}@{{ 1a }}@{{ [1] < [2] }}@{{ 'ab' * 2 }}@{{ 2 * 'ab' }}@{{ 2 * [1] }}@
{{ '%s' % 'a' }}@{{ 1 is none(2) }}@{{ messages | selectattr('role.x') | list }}@
{{ messages | selectattr('0') | list }}@{{ messages | tojson(indent=true) }}@
{{ messages | tojson(indent=-1) }})";

TEST(ChatTemplate, LoopsMayBeLeft) {
  EXPECT_EQ(rendered("{% for m in messages %}{% if loop.index == 3 %}{% break %}{% endif %}"
                     "{{ m.role }},{% endfor %}!"),
            "system,user,!");
  EXPECT_EQ(rendered("{% for m in messages %}{% if m.role == 'user' %}{% continue %}{% endif %}"
                     "{{ m.role }},{% endfor %}!"),
            "system,assistant,!");
  EXPECT_EQ(rendered("{% for m in messages %}{% for n in messages %}{% break %}{% endfor %}"
                     "{{ loop.index }}{% endfor %}"),
            "1234");
  for (const char* const source :
       {"{% break %}",
        "{% for m in messages %}{% macro f() %}{% continue %}{% endmacro %}{% endfor %}",
        "{% generation %}a"})
    expect_refused(ErrorCode::kFormat, [&] { rendered(source); });
}

// What transformers marks for training is text.
TEST(ChatTemplate, GenerationBlocksAreRendered) {
  EXPECT_EQ(rendered("{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}"
                     "{{ m.content }}{% endgeneration %}{% endif %}{% endfor %}."),
            "Yes..");
}

TEST(ChatTemplate, TheDateIsThatOfToday) {
  const auto now = [](const char* format) {
    const std::time_t seconds = std::time(nullptr);
    std::tm local{};
    localtime_r(&seconds, &local);
    char text[100];
    return std::string(text, std::strftime(text, sizeof text, format, &local));
  };
  for (const char* const format : {"%d %b %Y", "%A, %B %d, %Y", "%a %y-%m-%d %j %p %I %H%%"}) {
    const std::string source = std::string("{{ strftime_now('") + format + "') }}";
    const std::string before = now(format);
    const std::string text = rendered(source);
    EXPECT_TRUE(text == before || text == now(format)) << text;  // midnight may be between them
  }
}

// Jinja gives them another meaning, or none.
TEST(ChatTemplate, WhatItDoesNotKnowIsRefusedByNameAndPlace) {
  for (const char* const source :
       {"a\n {% block f %}{% endblock %}", "{{ x | upper }}", "{{ x is callable }}",
        "{{ x is divisibleby 2 }}", "{% set l = messages[0] | items %}",
        "{% for a, loop in messages %}{% endfor %}", "{% macro f(loop) %}{% endmacro %}"})
    expect_refused(ErrorCode::kUnsupported, [&] { rendered(source); });
  for (const std::string& source : parts(kNotKnown)) unsupported(source);
  const std::string longest(65'536, 'a');
  EXPECT_EQ(rendered(longest), longest);
  unsupported(longest + "a");
}

// Python finds them before an element or a member of the name.
TEST(ChatTemplate, AttributesOfPythonsValuesAreRefused) {
  for (const auto& [value, names] :
       {std::pair{"{}", "clear copy fromkeys get items keys pop popitem setdefault update values"},
        {"[]", "append clear copy count extend index insert pop remove reverse sort"},
        {"1",
         "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag "
         "is_integer numerator real to_bytes"},
        {"''",
         "capitalize casefold center count encode endswith expandtabs find format format_map "
         "index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric "
         "isprintable isspace istitle isupper join ljust lower lstrip maketrans partition "
         "removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split "
         "splitlines startswith strip swapcase title translate upper zfill"}}) {
    std::istringstream all(names);
    for (std::string name; all >> name;)
      unsupported(fmt::format("{{% set x = {} %}}{{{{ x.{} }}}}", value, name));
  }
}

TEST(ChatTemplate, FractionsAreNeitherWrittenNorCalculatedWith) {
  const auto of_fraction = [](const std::string& expression) {
    return ChatTemplate("{{ " + expression + " }}").render(Json{{"x", 1.5}});
  };
  for (const char* const source : {"x", "x[0]", "x.real", "x.hex()", "x + 1", "1 - x", "x < 1",
                                   "1 == x", "x in {}", "x | tojson", "x is integer"})
    expect_refused(ErrorCode::kUnsupported, [&] { of_fraction(source); });
  EXPECT_EQ(of_fraction("x is number") + of_fraction("x is none"), "TrueFalse");
}

constexpr const char* kWrong = R"(
{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}@{% macro f(a) %}{% endmacro %}{{ f(b=2) }}@
{% macro f(a) %}{% endmacro %}{{ f(1, a=2) }}@{% set x = 1 %}{% set x.y = 2 %}@
{% set x = 1 %}{{ x() }}@{% for a, b in [[1]] %}{% endfor %}@{{ 'a'.hello() }}@{{ missing.x }}@
{{ missing.x() }}@{{ missing[0] }}@{{ 1 | list }}@{{ 1 | length }}@{{ 1 in 2 }}@{{ 1 - 'a' }}@
{{ 1 < 'a' }}@{{ 'a' + 1 }}@{{ 1 // 0 }}@{{ messages[0] | items | length }}@
{{ ([1] + (2,)) | length }}@{{ 9223372036854775807 + 1 }}@{{ [missing] | tojson }})";

TEST(ChatTemplate, ErrorsSayWhatWasExpectedAndWhere) {
  for (const char* const source :
       {"a\n{% if x %}b", "{% macro f(a, a) %}{% endmacro %}",
        "{% macro f(a=1, b) %}{% endmacro %}", "{{ f(a=1, a=2) }}", "\n {# x", "{{ 'x }}", "{{ x",
        "{{ ! }}", "{{ (x] }}", "{{ ) }}", "{{ }}", "{{ x[] }}", "{% if x %}", "{{ not }}",
        "{{ (x }}", "{{ 1 +}}", "{% macro f( %}{% endmacro %}", "{% macro f() %}",
        "{{ raise_exception(a=1, 2) }}"})
    expect_refused(ErrorCode::kFormat, [&] { rendered(source); });
  for (const std::string& source : parts(kWrong))
    expect_refused(ErrorCode::kInvalidArgument, [&] { rendered(source); });
  for (const char* const source : {"{% set n = namespace(1) %}", "{{ 'a' | items | list }}"})
    unsupported(source);
}

TEST(ChatTemplate, WorkAndTextAreBounded) {
  std::string nested, doubled = "{% set x = 'aaaaaaaa' %}", deep = "{{ ";
  for (int i = 0; i < 12; ++i) nested += fmt::format("{{% for a{} in messages %}}", i);
  nested += "x";
  for (int i = 0; i < 12; ++i) nested += "{% endfor %}";
  unsupported(nested);
  for (int i = 0; i < 40; ++i) doubled += "{% set x = x + x %}";
  unsupported(doubled);
  unsupported("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}");
  unsupported("{% macro f(n) %}{{ n if n > 15 else f(n + 1) ~ f(n + 1) }}{% endmacro %}{{ f(0) }}");
  unsupported(
      "{% macro f() %}{% for m in messages %}{% for n in messages %}aaaaaaaaaaaaaaaaaaaaaaaaaaaa"
      "{% endfor %}{% endfor %}{% endmacro %}{% macro g(x) %}{{ x ~ x ~ x ~ x }}{% endmacro %}"
      "{{ g(g(g(g(g(g(g(g(g(f()))))))))) }}");
  unsupported(deep + std::string(1000, '(') + "1" + std::string(1000, ')') + " }}");
  unsupported(
      "{% set ns = namespace(x=[]) %}{% for a in messages %}{% for b in messages %}{% for c in "
      "messages %}{% set ns.x = [ns.x] %}{% endfor %}{% endfor %}{% endfor %}");
  std::string terms = "{{ 1";
  std::string pairs = "{% set x = [1] %}";
  for (int i = 0; i < 50; ++i) pairs += "{% set x = [x, x] %}";
  unsupported(pairs + "{{ x == x }}");
  unsupported(pairs + "{{ x | tojson }}");
  // Keys are text, too, wherever they are copied.
  const std::string key =
      "{% set n = namespace(p='xxxxxxxx') %}{% for i in 'abcdefghijklmnopqrstu' %}"
      "{% set n.p = n.p ~ n.p %}{% endfor %}{% set d = {n.p: 1} %}";
  for (const char* const copies : {"{{ {n.p: 1} | length }}", "{{ d.keys() | list | length }}",
                                   "{{ d.items() | list | length }}", "{{ d | list | length }}",
                                   "{% set m = namespace(d) %}"}) {
    std::string all = key;
    for (int i = 0; i < 5; ++i) all += copies;
    unsupported(all);
  }
  unsupported(key + "{{ [d, d, d] | tojson }}");
  // So are names looked up in a loop iteration, and its steps.
  std::string names = "{% for c in '" + std::string(1000, 'x') + "' %}{% if 0 %}";
  for (int i = 0; i < 4000; ++i) names += fmt::format("{{{{ n{} }}}}", i);
  unsupported(names + "{% endif %}{% endfor %}");
  for (int i = 0; i < 10'000; ++i) terms += "+1";
  unsupported(terms + "}}");
  unsupported("{{ 1" + [] {
    std::string all;
    for (int i = 0; i < 1000; ++i) all += " | trim";
    return all;
  }() + " }}");
}

// `prefix`0, `prefix`1, ..., with `suffix` and a comma between them.
std::string numbered(std::string_view prefix, int count, std::string_view suffix = "") {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += fmt::format("{}{}{}{}", i > 0 ? "," : "", prefix, i, suffix);
  return all;
}

TEST(ChatTemplate, ValuesAndTextsHaveALargestSize) {
  const auto list = [](int count) { return "{{ [" + numbered("", count) + "] | length }}"; };
  EXPECT_EQ(rendered(list(2048)), "2048");
  unsupported(list(2049));
  const auto members = [](int count) {
    return "{{ {" + numbered("'k", count, "':0") + "} | length }}";
  };
  EXPECT_EQ(rendered(members(1024)), "1024");
  unsupported(members(1025));
  const auto repeated = [](int count, const std::string& statement) {
    return "{% set n = namespace(x=0) %}{% for i in '" +
           std::string(static_cast<std::size_t>(count), 'x') + "' %}" + statement + "{% endfor %}";
  };
  for (const char* const statement : {"{% set n.x = [n.x] %}", "{% set n.x = {'a': n.x} %}"}) {
    EXPECT_EQ(rendered(repeated(64, statement)), "");
    unsupported(repeated(65, statement));
  }
  const std::string another = "{% set m = namespace() %}";
  EXPECT_EQ(rendered(repeated(1023, another)), "");
  unsupported(repeated(1024, another));
}

TEST(ChatTemplate, WritesUpTo16MiB) {
  const Json of{{"text", std::string(2 << 20, 'x')}};
  std::string source;
  for (int i = 0; i < 8; ++i) source += "{{ text }}";
  EXPECT_EQ(ChatTemplate(source).render(of).size(), 16U << 20);
  expect_refused(ErrorCode::kUnsupported, [&] { ChatTemplate(source + "x").render(of); });
}

// Whatever looks at each element, member or KiB takes steps for it: messages can be as long as a
// template is short. Nearly all of the million steps are spent first.
TEST(ChatTemplate, StepsAreCountedWhereverElementsAreLookedAt) {
  Json of = variables(Json::array());
  of["text"] = std::string(200 << 10, 'x');
  of["short"] = std::string(200, 'x');
  of["middle"] = std::string(6400, 'x');
  for (const auto& [name, members] : {std::pair{"many", 6400}, {"some", 300}}) {
    Json all = Json::object();
    for (int i = 0; i < members; ++i) all.members().push_back({fmt::format("k{}", i), 0});
    of[name] = std::move(all);
  }
  std::string spend;
  for (int i = 0; i < 5; ++i) spend += "{% if spent | list is none %}{% endif %}";
  const auto renders = [&](const std::string& source, std::size_t left) {
    // Each costs a step where it is read, and one in the list that is made.
    of["spent"] = std::vector<std::string>((1'000'000 - left) / 10);
    try {
      ChatTemplate(spend + source).render(of);
      return true;
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_TRUE(what.ends_with("rendering takes too many steps")) << what;
      return false;
    }
  };
  const std::pair<std::string, std::size_t> costs[] = {
      {"{{ short | list | length }}", 600},
      {"{{ {" + numbered("'k", 1000, "':0") + "} | length }}", 18'130},
      {"{{ many.k }}", 200},
      {"{{ 'q' in many }}", 200},
      {"{{ some == some }}", 3000},
      {"{{ text[0] }}", 200},
      {"{{ middle[0:1] }}", 100},
      {"{{ 'yyyyyyyyyyyyyyyy' in text }}", 400},
      {"{{ text < text }}", 200},
      {"{{ text == text }}", 200},
      {"{{ text | length }}", 200},
      {"{{ (text ~ '') | length }}", 600},
      {"{{ text.startswith(text) }}", 200},
      {"{{ text | trim | length }}", 600},
      {"{{ text.strip('y') | length }}", 2400},
      {"{{ text.split() | length }}", 400},
      {"{{ text.split('yyyyyyyyyyyyyyyy') | length }}", 600},
      {"{% set n = namespace(many) %}{% set n.q = 1 %}", 6600},
      {"{{ namespace(" + numbered("k", 1000, "=0") + ") is none }}", 17'130},
      {"{% for i in short %}{% endfor %}", 1200},
      {"{% macro f(" + numbered("k", 1000) + ") %}{% endmacro %}{{ f(" + numbered("k", 1000, "=0") +
           ") }}",
       34'000},
  };
  for (const auto& [source, steps] : costs) {
    SCOPED_TRACE(source.substr(0, 60));
    // The statements that spend take 20 steps themselves.
    EXPECT_FALSE(renders(source, steps - 50));
    EXPECT_TRUE(renders(source, steps + 50));
  }
}

TEST(ChatTemplate, TextIsCountedWhereverItIsJoinedOrNamed) {
  Json of = variables(Json::array());
  of["text"] = std::string(2 << 20, 'x');
  of["long"] = std::string((4 << 20) + 1, 'x');
  of["few"] = std::string(2400, 'x');
  const auto refused = [&](const std::string& source) {
    SCOPED_TRACE(source.substr(0, 60));
    expect_refused(ErrorCode::kUnsupported, [&] { ChatTemplate(source).render(of); });
  };
  std::string texts;
  for (int i = 0; i < 40; ++i) texts += "text,";
  refused("{{ '" + std::string(40, 'a') + "' | join(text) | length }}");
  refused("{{ [" + texts + "] | join | length }}");
  refused("{% set n = namespace() %}{% for i in few %}{% set n." + std::string(30'000, 'a') +
          " = 1 %}{% endfor %}");
  // What a macro writes is a text, too.
  std::string calls;
  for (int i = 0; i < 40; ++i) calls += "{% set x = f() %}";
  refused("{% macro f() %}{{ text }}{% endmacro %}" + calls);
  // What is written after a macro is not.
  std::string fewer, written;
  for (int i = 0; i < 28; ++i) fewer += "{% set x = f() %}";
  for (int i = 0; i < 7; ++i) written += "{{ text }}";
  EXPECT_EQ(
      ChatTemplate("{% macro f() %}{{ text }}{% endmacro %}" + fewer + written).render(of).size(),
      7 * of.at("text").as_string().size());
  // The blanks of JSON with indents are.
  Json deep = Json::array();
  for (int i = 0; i < 125'000; ++i) deep.push_back(0);
  for (int i = 0; i < 20; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  of["deep"] = std::move(deep);
  refused("{{ deep | tojson(indent=16) | length }}");
  refused("{{ long[0:1] }}");
}

}  // namespace
}  // namespace limpid
