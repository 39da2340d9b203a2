#include "limpid/data/text/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <system_error>
#include <vector>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text/byte_pair.h"
#include "limpid/data/text/detail/byte_pair_text.h"
#include "limpid/data/text/detail/sentencepiece.h"
#include "limpid/formats/file.h"

namespace limpid {
namespace {

namespace fs = std::filesystem;

constexpr JsonLimits kLimits = kTokenizerJson;

[[noreturn]] void bad_file(const std::string& what) { throw Error(ErrorCode::kFormat, what); }

// The number of a token.
std::int32_t number_of(const Json& json) {
  return static_cast<std::int32_t>(JsonView(json).as_integer(0, kMaxPipelineTokens - 1));
}

std::string_view text_of(const Tensor& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

bool is_there(const fs::path& path) {
  std::error_code ignored;  // a path that cannot be asked about is not there
  return fs::exists(path, ignored);
}

// Calls f. Its errors get the path.
template <class F>
auto naming(const fs::path& path, const F& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("tokenizer {}: {}", in_quotes(path.string()), e.what()));
  }
}

// Calls f with the text of the file. Errors of f get the path; errors of reading have it.
template <class F>
auto of_file(const fs::path& path, const F& f) {
  const Tensor file = read_file(path, kLimits.bytes);
  return naming(path, [&] { return f(text_of(file)); });
}

Json json_of(std::string_view text) { return Json::parse(text, kLimits); }

// ---- vocab.json and merges.txt

// {"token": number, ...} as the tokens in the order of their numbers, which are 0, 1, ...
std::vector<std::string> tokens_of(const Json& vocabulary,
                                   const std::map<std::int32_t, std::string>& added = {}) {
  if (!vocabulary.is_object()) bad_file("expected an object of tokens and their numbers");
  std::set<std::int32_t> there;
  for (const auto& [number, token] : added) there.insert(number);
  std::size_t count = added.size();
  for (const auto& [token, number] : vocabulary.members())
    count += there.contains(number_of(number)) ? 0 : 1;
  std::vector<std::string> tokens(count);
  std::vector<bool> taken(count);
  const auto put = [&](std::int32_t number, const std::string& token) {
    const auto place = static_cast<std::size_t>(number);
    if (place >= count)
      bad_file(fmt::format("the token {} has number {}, but there are {} tokens", in_quotes(token),
                           number, count));
    if (taken[place]) bad_file(fmt::format("duplicate number {}", number));
    taken[place] = true;
    tokens[place] = token;
  };
  for (const auto& [number, token] : added) put(number, token);
  for (const auto& [token, json] : vocabulary.members()) {
    const auto number = number_of(json);
    const auto found = added.find(number);
    if (found == added.end())
      put(number, token);
    else if (found->second != token)
      bad_file(fmt::format("number {} is both {} and {}", number, in_quotes(token),
                           in_quotes(found->second)));
  }
  return tokens;
}

std::vector<std::string> merges_of_lines(std::string_view text) {
  std::vector<std::string> merges;
  std::size_t line = 0;
  for (const std::string_view merge : lines_of(text)) {
    ++line;
    if (merge.empty() || (line == 1 && merge.substr(0, 9) == "#version:")) continue;
    merges.emplace_back(merge);
  }
  return merges;
}

BytePairRules rules_of_pair_of_files(const fs::path& vocabulary, const fs::path& merges) {
  detail::BytePairText text;
  text.tokens = of_file(vocabulary, [](std::string_view file) { return tokens_of(json_of(file)); });
  return of_file(merges, [&](std::string_view file) {
    text.merges = merges_of_lines(file);
    return detail::rules_of(text);
  });
}

// ---- tokenizer.json

// The value of a key; null if there is none.
const Json& part(const Json& json, const char* key) {
  static const Json kNothing;
  const Json* const found = json.find(key);
  return found ? *found : kNothing;
}

// The elements of a list; none if there is no list.
const Json::Array& elements_of(const Json& list) {
  static const Json::Array kNone;
  return list.is_null() ? kNone : list.elements();
}

bool flag(const Json& json, const char* key, bool otherwise) {
  const Json& value = part(json, key);
  return value.is_null() ? otherwise : value.as_bool();
}

std::string type_of(const Json& json) {
  const Json& type = part(json, "type");
  return type.is_string() ? type.as_string() : "";
}

bool is_byte_level(const Json& json, bool cuts_words) {
  return type_of(json) == "ByteLevel" && !flag(json, "add_prefix_space", true) &&
         flag(json, "use_regex", true) == cuts_words;
}

// The pattern of a byte pair encoding that is Limpid's own; nullopt for other pre-tokenizers.
std::optional<PreTokenizer> pre_tokenizer_of(const Json& json) {
  if (is_byte_level(json, true)) return PreTokenizer::kGpt2;
  const Json& parts = part(json, "pretokenizers");
  if (type_of(json) != "Sequence" || !parts.is_array() || parts.size() != 2 ||
      type_of(parts.at(0)) != "Split" || part(parts.at(0), "behavior") != "Isolated" ||
      flag(parts.at(0), "invert", false) || !is_byte_level(parts.at(1), false))
    return std::nullopt;
  const Json& pattern = part(part(parts.at(0), "pattern"), "Regex");
  for (const PreTokenizer known : {PreTokenizer::kLlama3, PreTokenizer::kQwen2})
    if (pattern == expression_of(known)) return known;
  return std::nullopt;
}

// Whether numbers are 0, 1, ... and every added token is a special one without further rules.
bool has_plain_tokens(const Json& json, const Json& vocabulary) {
  if (!vocabulary.is_object()) return true;  // malformed: reading it says so
  std::set<std::int64_t> numbers;
  for (const auto& [token, number] : vocabulary.members())
    if (number.is_small_integer()) numbers.insert(number.as_integer());
  for (const Json& token : elements_of(part(json, "added_tokens"))) {
    if (!flag(token, "special", true)) return false;
    for (const char* rule : {"lstrip", "rstrip", "single_word", "normalized"})
      if (flag(token, rule, false)) return false;
    if (const Json& number = part(token, "id"); number.is_small_integer())
      numbers.insert(number.as_integer());
  }
  return numbers.empty() || *numbers.rbegin() < static_cast<std::int64_t>(numbers.size());
}

// Whether a template puts tokens after a text, which a byte-pair encoding of our own does not.
bool puts_after(const Json& json) {
  const std::string type = type_of(json);
  if (type == "RobertaProcessing" || type == "BertProcessing") return true;
  if (type == "Sequence")
    return std::any_of(elements_of(part(json, "processors")).begin(),
                       elements_of(part(json, "processors")).end(), puts_after);
  const Json::Array& single = elements_of(part(json, "single"));
  return type == "TemplateProcessing" && !single.empty() && single.back().is_object() &&
         single.back().contains("SpecialToken");
}

// Whether a tokenizer.json is a byte-pair encoding over bytes, as that of GPT-2 and Llama 3.
bool is_byte_pair(const Json& json) {
  const Json& model = part(json, "model");
  if (type_of(model) != "BPE" || flag(model, "byte_fallback", false)) return false;
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json& value = part(model, key); !value.is_null() && value != "") return false;
  return part(json, "normalizer").is_null() && !puts_after(part(json, "post_processor")) &&
         pre_tokenizer_of(part(json, "pre_tokenizer")) &&
         has_plain_tokens(json, part(model, "vocab"));
}

// "a b", or ["a", "b"] as newer files have it.
std::vector<std::string> merges_of(const Json& list) {
  std::vector<std::string> merges;
  for (const Json& merge : list.elements()) {
    if (!merge.is_array()) {
      merges.push_back(merge.as_string());
      continue;
    }
    if (merge.size() != 2)
      bad_file(fmt::format("model.merges: expected a merge of two tokens, got {}", brief(merge)));
    merges.push_back(fmt::format("{} {}", merge.at(0).as_string(), merge.at(1).as_string()));
  }
  return merges;
}

// The token that a TemplateProcessing, alone or in a Sequence, puts before a text.
std::optional<std::int32_t> begin_of(const Json& processor) {
  if (type_of(processor) == "Sequence") {
    for (const Json& one : elements_of(part(processor, "processors")))
      if (const std::optional<std::int32_t> begin = begin_of(one)) return begin;
    return {};
  }
  const Json& single = part(processor, "single");
  if (type_of(processor) != "TemplateProcessing" || !single.is_array() || single.size() == 0)
    return {};
  const Json& name = part(part(single.at(0), "SpecialToken"), "id");
  if (!name.is_string()) return {};
  return number_of(processor.at("special_tokens").at(name.as_string()).at("ids").at(0));
}

struct Contents {
  BytePairRules rules;
  std::optional<std::int32_t> begin;
};

Contents contents_of_tokenizer_json(const Json& json) {
  std::map<std::int32_t, std::string> added;
  for (const Json& token : elements_of(part(json, "added_tokens")))
    if (!added.emplace(number_of(token.at("id")), token.at("content").as_string()).second)
      bad_file("added_tokens: duplicate number");
  const Json& model = json.at("model");
  detail::BytePairText text{.tokens = tokens_of(model.at("vocab"), added),
                            .merges = merges_of(model.at("merges"))};
  for (const auto& [number, token] : added) text.special.push_back(number);
  Contents contents{detail::rules_of(text), begin_of(part(json, "post_processor"))};
  contents.rules.pre_tokenizer = *pre_tokenizer_of(part(json, "pre_tokenizer"));
  contents.rules.whole_words = flag(model, "ignore_merges", false);
  return contents;
}

// The file with merges as texts where they may be: what is kept of it is then a third smaller.
Json compacted(Json json) {
  Json& model = json["model"];
  if (!model.is_object() || !part(model, "merges").is_array()) return json;
  for (Json& merge : model["merges"].elements()) {
    if (!merge.is_array() || merge.size() != 2) continue;
    const auto is_plain = [](const Json& token) {
      return token.is_string() && !token.as_string().empty() &&
             token.as_string().find(' ') == std::string::npos;
    };
    if (is_plain(merge.at(0)) && is_plain(merge.at(1)))
      merge = fmt::format("{} {}", merge.at(0).as_string(), merge.at(1).as_string());
  }
  return json;
}

// ---- BERT's vocab.txt

// A special token of tokenizer_config.json: a text, or an object with a "content".
std::string special_of(const JsonView& config, const char* key, const char* otherwise) {
  const std::optional<JsonView> named = config.find(key);
  if (!named || named->value().is_null()) return otherwise;
  return named->value().is_object() ? named->at("content").as_string() : named->as_string();
}

bool flag_of(const JsonView& config, const char* key, bool otherwise) {
  const std::optional<JsonView> value = config.find(key);
  return value && !value->value().is_null() ? value->as_bool() : otherwise;
}

// The tokenizer.json of a list of pieces, one a line, as BERT's tokenizer reads it (Devlin et al.
// 2019). `config` is tokenizer_config.json, or an empty object.
Json json_of_word_list(std::string_view text, const JsonView& config) {
  if (const std::size_t fault = utf8_fault(text); fault < text.size())
    bad_file(fmt::format("not UTF-8: byte {}", fault + 1));
  Json::Object vocabulary;
  std::map<std::string, std::int64_t, std::less<>> numbers;
  for (const std::string_view line : lines_of(text)) {
    const auto number = static_cast<std::int64_t>(vocabulary.size());
    if (!numbers.emplace(line, number).second)
      bad_file(fmt::format("line {}: {} is there twice", number + 1, in_quotes(line)));
    vocabulary.push_back({std::string(line), number});
  }
  Json added = Json::array();
  const auto special = [&](const char* key, const char* otherwise, bool needed) {
    const std::string token = special_of(config, key, otherwise);
    const auto found = numbers.find(token);
    if (found == numbers.end()) {
      if (needed) bad_file(fmt::format("there is no {}", in_quotes(token)));
      return Json();
    }
    added.push_back({{"id", found->second}, {"content", token}, {"special", true}});
    return Json::array({token, found->second});
  };
  const Json unknown = special("unk_token", "[UNK]", true),
             first = special("cls_token", "[CLS]", true),
             last = special("sep_token", "[SEP]", true);
  special("pad_token", "[PAD]", false);
  special("mask_token", "[MASK]", false);
  return {{"added_tokens", std::move(added)},
          {"normalizer",
           {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", flag_of(config, "tokenize_chinese_chars", true)},
            {"strip_accents", part(config.value(), "strip_accents")},
            {"lowercase", flag_of(config, "do_lower_case", true)}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"post_processor", {{"type", "BertProcessing"}, {"sep", last}, {"cls", first}}},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", unknown.at(std::size_t{0})},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", Json(std::move(vocabulary))}}}};
}

// ---- a folder

// All tokens that end a text by eos_token_id of a folder: that of config.json first.
std::vector<std::int32_t> ends_of(const fs::path& folder) {
  std::vector<std::int32_t> ends;
  for (const char* name : {"config.json", "generation_config.json"}) {
    if (!is_there(folder / name)) continue;
    of_file(folder / name, [&](std::string_view file) {
      const Json json = json_of(file);
      const Json& end = part(json, "eos_token_id");
      const auto add = [&](const Json& number) {
        const std::int32_t token = number_of(number);
        if (std::find(ends.begin(), ends.end(), token) == ends.end()) ends.push_back(token);
      };
      if (end.is_array())
        for (const Json& one : end.elements()) add(one);
      else if (!end.is_null())
        add(end);
      return 0;
    });
  }
  return ends;
}

// add_bos_token of tokenizer_config.json.
std::optional<bool> begins_by_config(const fs::path& folder) {
  if (!is_there(folder / "tokenizer_config.json")) return std::nullopt;
  return of_file(folder / "tokenizer_config.json",
                 [](std::string_view file) -> std::optional<bool> {
                   const Json json = json_of(file);
                   const Json& begins = part(json, "add_bos_token");
                   return begins.is_null() ? std::nullopt : std::optional(begins.as_bool());
                 });
}

}  // namespace

std::optional<Tokenizer> load_tokenizer(const fs::path& folder) {
  std::vector<std::int32_t> more = ends_of(folder);
  std::optional<std::int32_t> end;
  if (!more.empty()) {
    end = more.front();
    more.erase(more.begin());
  }
  const auto of_rules = [&](Contents contents) {
    return naming(folder, [&] {
      return Tokenizer::byte_pair(std::move(contents.rules), {contents.begin, end, more});
    });
  };
  if (is_there(folder / "tokenizer.json")) {
    std::optional<Json> other;
    Contents contents = of_file(folder / "tokenizer.json", [&](std::string_view file) {
      Json json = json_of(file);
      if (is_byte_pair(json)) return contents_of_tokenizer_json(json);
      other = std::move(json);
      return Contents{};
    });
    if (!other) return of_rules(std::move(contents));
    return naming(folder / "tokenizer.json", [&] {
      return Tokenizer::tokenizer_json(compacted(std::move(*other)), end, more);
    });
  }
  if (is_there(folder / "tokenizer.model"))
    return of_file(folder / "tokenizer.model", [&](std::string_view file) {
      const bool begins = begins_by_config(folder).value_or(detail::sentencepiece_begins(file));
      return Tokenizer::tokenizer_json(compacted(detail::json_of_sentencepiece(file, begins)), end,
                                       more);
    });
  if (is_there(folder / "vocab.json") && is_there(folder / "merges.txt"))
    return of_rules({rules_of_pair_of_files(folder / "vocab.json", folder / "merges.txt"), {}});
  if (is_there(folder / "vocab.txt")) {
    const fs::path config = folder / "tokenizer_config.json";
    const Json options = is_there(config)
                             ? of_file(config, [](std::string_view file) { return json_of(file); })
                             : Json::object();
    return of_file(folder / "vocab.txt", [&](std::string_view file) {
      return Tokenizer::tokenizer_json(
          json_of_word_list(file, JsonView(options, "tokenizer_config.json")), end, more);
    });
  }
  return {};
}

bool fits_tokenizer_files(const Tokenizer& tokenizer) {
  const BytePairRules* const rules = tokenizer.byte_pair_rules();
  return rules && rules->pre_tokenizer == PreTokenizer::kGpt2 && !rules->whole_words &&
         rules->special.empty() && !tokenizer.marks().begin;
}

void save_tokenizer(const fs::path& folder, const Tokenizer& tokenizer) {
  if (!fits_tokenizer_files(tokenizer)) return;
  const BytePairRules* const rules = tokenizer.byte_pair_rules();
  const detail::BytePairText text = detail::to_text(*rules);
  Json::Object vocabulary;  // by the bytes of the tokens, as files of other programs may have it
  for (std::size_t i = 0; i < text.tokens.size(); ++i) vocabulary.push_back({text.tokens[i], i});
  std::sort(vocabulary.begin(), vocabulary.end(),
            [](const Json::Member& a, const Json::Member& b) { return a.key < b.key; });
  std::string merges = "#version: 0.2\n";
  for (const std::string& merge : text.merges) merges += merge + "\n";
  const auto write = [&](const char* name, const std::string& content) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(content));
    write_file_atomically(folder / name, {&bytes, 1});
  };
  write("vocab.json", Json(vocabulary).dump());
  write("merges.txt", merges);
}

}  // namespace limpid
