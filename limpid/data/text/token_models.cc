// Models of tokenizers.
#include "limpid/data/text/detail/token_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <queue>
#include <span>
#include <utility>

#include "limpid/core/error.h"
#include "limpid/core/in_quotes.h"
#include "limpid/core/utf8.h"
#include "limpid/data/text/detail/byte_trie.h"
#include "limpid/data/text/detail/code_points.h"
#include "limpid/data/text/detail/text_steps.h"
#include "limpid/data/text/text_pipeline.h"

namespace limpid::detail {
namespace {

using SpecialTexts = std::set<std::string, std::less<>>;

constexpr std::int32_t kNoToken = -1;

// The tokens of {"token": id}.
void read_vocabulary(const JsonView& json, std::unordered_map<std::string_view, std::int32_t>& to) {
  if (!json.value().is_object()) json.refuse("an object of tokens and their numbers");
  const Json::Object& members = json.value().members();
  to.reserve(members.size());
  for (const auto& [token, id] : members) {
    if (!id.is_integer() || id.as_integer() < 0 ||
        id.as_integer() >= static_cast<std::int64_t>(kMaxPipelineTokens))
      json.at(token).refuse(fmt::format("a number below {}", kMaxPipelineTokens));
    to.emplace(token, static_cast<std::int32_t>(id.as_integer()));
  }
}

// The tokens "<0x00>" to "<0xFF>" of a vocabulary; kNoToken for one that is not there.
std::array<std::int32_t, 256> byte_tokens_of(const TokenModel& model) {
  std::array<std::int32_t, 256> tokens{};
  for (unsigned byte = 0; byte < tokens.size(); ++byte)
    tokens[byte] = model.find(fmt::format("<0x{:02X}>", byte));
  return tokens;
}

// Appends the tokens of the bytes [begin, end); false if one has none.
bool append_bytes(const std::array<std::int32_t, 256>& tokens, const Piece& piece,
                  std::size_t begin, std::size_t end, FoundTokens& to) {
  const auto token = [&](std::size_t i) {
    return tokens[static_cast<unsigned char>(piece.text[i])];
  };
  for (std::size_t i = begin; i < end; ++i)
    if (token(i) == kNoToken) return false;
  for (std::size_t i = begin; i < end; ++i) to.add(token(i), piece, i, i + 1);
  return true;
}

std::size_t count_of_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

// ---- BPE

// A map from pairs of tokens, with open addresses.
class PairTable {
 public:
  struct Entry {
    std::uint64_t key = kEmpty;
    std::int32_t rank = 0, result = 0;
  };

  explicit PairTable(std::size_t count = 0) {
    std::size_t size = 16;
    while (size < 2 * count) size *= 2;
    entries_.resize(size);
  }
  // Of equal pairs the last one counts.
  void add(std::int32_t left, std::int32_t right, std::int32_t rank, std::int32_t result) {
    entries_[place_of(key_of(left, right))] = {key_of(left, right), rank, result};
  }
  const Entry* find(std::int32_t left, std::int32_t right) const {
    const Entry& entry = entries_[place_of(key_of(left, right))];
    return entry.key == kEmpty ? nullptr : &entry;
  }

 private:
  static constexpr std::uint64_t kEmpty = static_cast<std::uint64_t>(-1);
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t place = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (entries_[place].key != kEmpty && entries_[place].key != key) place = (place + 1) & mask;
    return place;
  }

  std::vector<Entry> entries_;
};

// A set of pairs of tokens that may hold others, too.
class PairFilter {
 public:
  void add(std::int32_t left, std::int32_t right) { bits_[place_of(left, right)] = true; }
  bool may_have(std::int32_t left, std::int32_t right) const {
    return bits_[place_of(left, right)];
  }

 private:
  static constexpr unsigned kBits = 20;
  static std::size_t place_of(std::int32_t left, std::int32_t right) {
    const auto key = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
    return static_cast<std::size_t>(key * 0xd6e8feb86659fd93u >> (64 - kBits));
  }
  std::vector<bool> bits_ = std::vector<bool>(std::size_t{1} << kBits);
};

class BpeModel : public TokenModel {
 public:
  explicit BpeModel(const JsonView& json)
      : unknown_(text_or(json, "unk_token", "")),
        prefix_(text_or(json, "continuing_subword_prefix", "")),
        suffix_(text_or(json, "end_of_word_suffix", "")),
        fuses_(flag_or(json, "fuse_unk", false)),
        falls_back_(flag_or(json, "byte_fallback", false)),
        whole_words_(flag_or(json, "ignore_merges", false)) {
    if (const std::optional<JsonView> dropout = json.find("dropout");
        dropout && !dropout->value().is_null() && dropout->as_number() != 0)
      throw Error(ErrorCode::kUnsupported, "model.dropout: expected none");
    read_vocabulary(json.at("vocab"), ids_);
    unknown_id_ = unknown_.empty() ? kNoToken : find(unknown_);
    bytes_ = byte_tokens_of(*this);
    for (char32_t c = 0; c < kTable; ++c) characters_[c] = find(utf8_of(c));
    read_merges(json.at("merges"));
  }

  void encode(const Piece& word, FoundTokens& to) const override {
    if (whole_words_) {
      const std::int32_t whole = find(word.text);
      if (whole != kNoToken) return to.add(whole, word, 0, word.text.size());
    }
    std::vector<Symbol> symbols;
    add_symbols(word, symbols);
    // No merge crosses a place between two tokens that no merge brings together.
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= symbols.size(); ++i)
      if (i == symbols.size() ||
          (parts_ && !joins_.may_have(symbols[i - 1].token, symbols[i].token))) {
        merge(std::span(symbols).subspan(begin, i - begin));
        begin = i;
      }
    for (const Symbol& symbol : symbols)
      if (symbol.token != kNoToken) to.add(symbol.token, word, symbol.begin, symbol.end);
  }

 private:
  static constexpr char32_t kTable = 0x10000;
  static constexpr std::size_t kEnd = static_cast<std::size_t>(-1);

  struct Symbol {
    std::int32_t token;  // kNoToken: merged into the one before
    std::uint32_t begin, end;
    std::uint32_t previous = 0, next = 0;
  };
  struct Candidate {
    std::int32_t rank;
    std::uint32_t left;
    std::int32_t tokens[2];
    bool operator<(const Candidate& other) const {  // for a queue with the largest on top
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };

  void read_merges(const JsonView& json) {
    const Json::Array& list = json.value().elements();
    if (list.size() > kMaxPipelineMerges)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: {} merges, expected at most {}", json.path(), list.size(),
                              kMaxPipelineMerges));
    merges_ = PairTable(list.size());
    std::string joined;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto [left, right] = merge_of(json, i);
      const std::int32_t tokens[2] = {find(left), find(right)};
      joined = left;
      joined += right.starts_with(prefix_) ? right.substr(prefix_.size()) : right;
      const std::int32_t result = find(joined);
      if (tokens[0] == kNoToken || tokens[1] == kNoToken || result == kNoToken)
        json.at(i).refuse("a merge of two tokens to a token");
      merges_.add(tokens[0], tokens[1], static_cast<std::int32_t>(i), result);
      note_join(left, right);
    }
  }

  // "a b", or ["a", "b"] as newer files have it.
  static std::pair<std::string_view, std::string_view> merge_of(const JsonView& json,
                                                                std::size_t i) {
    const Json& merge = json.value().at(i);
    if (merge.is_array() && merge.size() == 2 && merge.at(0).is_string() && merge.at(1).is_string())
      return {merge.at(0).as_string(), merge.at(1).as_string()};
    const std::string_view both = merge.is_string() ? std::string_view(merge.as_string()) : "";
    const std::size_t space = both.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == both.size())
      json.at(i).refuse("two tokens separated by a space");
    return {both.substr(0, space), both.substr(space + 1)};
  }

  // The last character of one and the first one of the other are side by side in what this merge
  // makes. Not so where a word begins as other tokens than those of its characters.
  void note_join(std::string_view left, std::string_view right) {
    const auto is_other = [&](std::string_view text) {
      return (falls_back_ && text.find("<0x") != std::string_view::npos) ||
             (!unknown_.empty() && text.find(unknown_) != std::string_view::npos);
    };
    if (!prefix_.empty() || !suffix_.empty() || is_other(left) || is_other(right)) parts_ = false;
    if (!parts_) return;
    const std::size_t last = before_place(left, left.size());
    joins_.add(character(left.substr(last)),
               character(right.substr(0, code_point_at(right, 0).bytes)));
  }

  std::int32_t character(std::string_view text) const {
    const CodePoint c = code_point_at(text, 0);
    return c.value < kTable ? characters_[c.value] : find(text);
  }

  void add_symbols(const Piece& word, std::vector<Symbol>& symbols) const {
    const std::string_view text = word.text;
    std::optional<Symbol> unknown;
    std::string affixed;
    const auto add = [&](std::int32_t token, std::size_t begin, std::size_t end) {
      symbols.push_back(
          {token, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    };
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t end = i + code_point_at(text, i).bytes;
      std::string_view symbol = text.substr(i, end - i);
      std::int32_t token = kNoToken;
      if ((i > 0 && !prefix_.empty()) || (end == text.size() && !suffix_.empty())) {
        affixed = i > 0 ? prefix_ : "";
        affixed += symbol;
        if (end == text.size()) affixed += suffix_;
        symbol = affixed;
        token = find(symbol);
      } else {
        token = character(symbol);
      }
      if (token != kNoToken) {
        if (unknown) symbols.push_back(*unknown);
        unknown.reset();
        add(token, i, end);
      } else if (falls_back_ && has_bytes(symbol)) {
        for (std::size_t byte = 0; byte < symbol.size(); ++byte)
          if (symbol.size() == end - i)
            add(bytes_[static_cast<unsigned char>(symbol[byte])], i + byte, i + byte + 1);
          else
            add(bytes_[static_cast<unsigned char>(symbol[byte])], i, end);
      } else if (!unknown_.empty()) {
        if (unknown_id_ == kNoToken)
          throw Error(ErrorCode::kNotFound,
                      fmt::format("tokenizer: no token for {}, and none {}",
                                  in_quotes(text.substr(i, end - i)), in_quotes(unknown_)));
        if (unknown && fuses_) {
          unknown->end = static_cast<std::uint32_t>(end);
        } else {
          if (unknown) symbols.push_back(*unknown);
          unknown =
              Symbol{unknown_id_, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(end)};
        }
      }
      i = end;
    }
    if (unknown) symbols.push_back(*unknown);
  }

  bool has_bytes(std::string_view text) const {
    return std::all_of(text.begin(), text.end(), [&](char byte) {
      return bytes_[static_cast<unsigned char>(byte)] != kNoToken;
    });
  }

  // Merges the pair whose merge was learnt first, the leftmost of several, until none is left.
  void merge(std::span<Symbol> symbols) const {
    constexpr std::size_t kFew = 24;
    if (symbols.size() < 2) return;
    if (symbols.size() <= kFew)
      merge_few(symbols);
    else
      merge_many(symbols);
  }

  // Looks at all pairs again for each merge.
  void merge_few(std::span<Symbol> symbols) const {
    constexpr std::size_t kMost = 24;
    std::size_t places[kMost];  // of the symbols that are left
    const PairTable::Entry* found[kMost] = {};
    std::size_t count = symbols.size();
    const auto look = [&](std::size_t i) {
      found[i] = i + 1 < count
                     ? merges_.find(symbols[places[i]].token, symbols[places[i + 1]].token)
                     : nullptr;
    };
    for (std::size_t i = 0; i < count; ++i) places[i] = i;
    for (std::size_t i = 0; i < count; ++i) look(i);
    for (;;) {
      std::size_t best = kEnd;
      for (std::size_t i = 0; i + 1 < count; ++i)
        if (found[i] && (best == kEnd || found[i]->rank < found[best]->rank)) best = i;
      if (best == kEnd) return;
      Symbol& left = symbols[places[best]];
      Symbol& right = symbols[places[best + 1]];
      left.token = found[best]->result;
      left.end = right.end;
      right.token = kNoToken;
      --count;
      for (std::size_t i = best + 1; i < count; ++i) {
        places[i] = places[i + 1];
        found[i] = found[i + 1];
      }
      look(best);
      if (best > 0) look(best - 1);
    }
  }

  // With a queue: n log n.
  void merge_many(std::span<Symbol> symbols) const {
    constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
    std::priority_queue<Candidate> candidates;
    const auto consider = [&](std::uint32_t left) {
      if (left == kNone || symbols[left].next == kNone) return;
      const std::int32_t first = symbols[left].token;
      const std::int32_t second = symbols[symbols[left].next].token;
      if (const PairTable::Entry* const found = merges_.find(first, second))
        candidates.push({found->rank, left, {first, second}});
    };
    const auto count = static_cast<std::uint32_t>(symbols.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      symbols[i].previous = i == 0 ? kNone : i - 1;
      symbols[i].next = i + 1 == count ? kNone : i + 1;
    }
    for (std::uint32_t i = 0; i < count; ++i) consider(i);
    while (!candidates.empty()) {
      const Candidate candidate = candidates.top();
      candidates.pop();
      Symbol& left = symbols[candidate.left];
      // Either symbol may have been merged with another one since.
      if (left.token != candidate.tokens[0] || left.next == kNone ||
          symbols[left.next].token != candidate.tokens[1])
        continue;
      Symbol& right = symbols[left.next];
      left.token = merges_.find(candidate.tokens[0], candidate.tokens[1])->result;
      left.end = right.end;
      right.token = kNoToken;
      left.next = right.next;
      if (left.next != kNone) symbols[left.next].previous = candidate.left;
      consider(left.previous);
      consider(candidate.left);
    }
  }

  const std::string unknown_, prefix_, suffix_;
  const bool fuses_, falls_back_, whole_words_;
  std::int32_t unknown_id_ = kNoToken;
  std::array<std::int32_t, 256> bytes_{};
  std::vector<std::int32_t> characters_ = std::vector<std::int32_t>(kTable, kNoToken);
  PairTable merges_;
  PairFilter joins_;
  bool parts_ = true;  // whether joins_ are all
};

// ---- WordPiece and WordLevel

class WordPieceModel : public TokenModel {
 public:
  explicit WordPieceModel(const JsonView& json)
      : prefix_(text_or(json, "continuing_subword_prefix", "##")), most_(100) {
    if (const std::optional<JsonView> most = json.find("max_input_chars_per_word"))
      most_ = static_cast<std::size_t>(most->as_integer(0));
    read_vocabulary(json.at("vocab"), ids_);
    const std::string unknown = text_or(json, "unk_token", "[UNK]");
    unknown_ = find(unknown);
    if (unknown_ == kNoToken) json.at("vocab").refuse("the token " + in_quotes(unknown));
    std::vector<std::pair<std::string, std::int32_t>> first, later;
    for (const auto& [token, id] : ids_) {
      if (!token.empty()) first.emplace_back(token, id);
      if (token.size() > prefix_.size() && token.starts_with(prefix_))
        later.emplace_back(token.substr(prefix_.size()), id);
    }
    first_ = ByteTrie(std::move(first));
    later_ = ByteTrie(std::move(later));
  }

  void encode(const Piece& word, FoundTokens& to) const override {
    const std::size_t before = to.ids.size();
    std::size_t begin = 0;
    bool known = count_of_characters(word.text) <= most_;
    while (known && begin < word.text.size()) {
      std::size_t end = begin;
      std::int32_t token = kNoToken;
      (begin == 0 ? first_ : later_)
          .for_each_prefix(word.text.substr(begin), [&](std::size_t bytes, std::int32_t id) {
            end = begin + bytes;
            token = id;
          });
      known = token != kNoToken;
      if (known) to.add(token, word, begin, end);
      begin = end;
    }
    if (known) return;
    to.ids.resize(before);
    if (to.tracks) to.origins.resize(before);
    to.add(unknown_, word, 0, word.text.size());
  }

 private:
  const std::string prefix_;
  std::size_t most_;
  std::int32_t unknown_ = kNoToken;
  ByteTrie first_, later_;
};

class WordLevelModel : public TokenModel {
 public:
  WordLevelModel(const JsonView& json, SpecialTexts special) : special_(std::move(special)) {
    read_vocabulary(json.at("vocab"), ids_);
    unknown_ = find(text_or(json, "unk_token", "<unk>"));
  }

  void encode(const Piece& word, FoundTokens& to) const override {
    std::int32_t token = special_.contains(word.text) ? kNoToken : find(word.text);
    if (token == kNoToken) token = unknown_;
    if (token == kNoToken)
      throw Error(ErrorCode::kNotFound,
                  fmt::format("tokenizer: no token for {}", in_quotes(word.text)));
    to.add(token, word, 0, word.text.size());
  }
  bool is_slow() const override { return false; }

 private:
  const SpecialTexts special_;
  std::int32_t unknown_ = kNoToken;
};

// ---- Unigram

// The tokens of the most probable segmentation (Kudo 2018).
class UnigramModel : public TokenModel {
 public:
  UnigramModel(const JsonView& json, SpecialTexts special)
      : falls_back_(flag_or(json, "byte_fallback", false)), special_(std::move(special)) {
    const JsonView vocabulary = json.at("vocab");
    const Json::Array& list = vocabulary.value().elements();
    if (list.size() > kMaxPipelineTokens)
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("{}: {} tokens, expected at most {}", vocabulary.path(), list.size(),
                              kMaxPipelineTokens));
    std::vector<std::pair<std::string, std::int32_t>> entries;
    double least = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Json& piece = list[i];
      if (!piece.is_array() || piece.size() != 2 || !piece.at(0).is_string() ||
          !piece.at(1).is_number())
        vocabulary.at(i).refuse("a token and its score");
      const auto id = static_cast<std::int32_t>(i);
      const std::string& text = piece.at(0).as_string();
      if (!text.empty() && !special_.contains(text)) entries.emplace_back(text, id);
      ids_[text] = id;
      scores_.push_back(piece.at(1).as_number());
      least = i == 0 ? scores_.back() : std::min(least, scores_.back());
    }
    if (const std::optional<JsonView> unknown = json.find("unk_id");
        unknown && !unknown->value().is_null())
      unknown_ = static_cast<std::int32_t>(
          unknown->as_integer(0, static_cast<std::int64_t>(list.size()) - 1));
    constexpr double kPenalty = 10;
    unknown_score_ = least - kPenalty;
    bytes_ = byte_tokens_of(*this);
    trie_ = ByteTrie(std::move(entries));
  }

  void encode(const Piece& word, FoundTokens& to) const override {
    const std::string_view text = word.text;
    struct Step {
      double score = 0;
      std::int32_t token = kNoToken;
      std::uint32_t begin = kUnreached;
    };
    std::vector<Step> steps(text.size() + 1);  // the best last token up to each byte
    const auto offer = [&](std::size_t begin, std::size_t end, double score, std::int32_t token) {
      Step& step = steps[end];
      const double whole = score + steps[begin].score;
      if (step.begin == kUnreached || whole > step.score)
        step = {whole, token, static_cast<std::uint32_t>(begin)};
    };
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t bytes = code_point_at(text, begin).bytes;
      bool single = false;
      trie_.for_each_prefix(text.substr(begin), [&](std::size_t length, std::int32_t token) {
        single |= length == bytes;
        offer(begin, begin + length, scores_[static_cast<std::size_t>(token)], token);
      });
      if (!single) offer(begin, begin + bytes, unknown_score_, unknown_);
      begin += bytes;
    }
    std::vector<std::size_t> ends;
    for (std::size_t end = text.size(); end > 0; end = steps[end].begin) ends.push_back(end);
    std::size_t begin = 0;
    while (!ends.empty()) {
      std::size_t end = ends.back();
      const std::int32_t token = steps[end].token;
      ends.pop_back();
      // Neighbours without a token are one.
      while (token == unknown_ && !ends.empty() && steps[ends.back()].token == unknown_) {
        end = ends.back();
        ends.pop_back();
      }
      add(token, word, begin, end, to);
      begin = end;
    }
  }

 private:
  static constexpr std::uint32_t kUnreached = std::numeric_limits<std::uint32_t>::max();

  void add(std::int32_t token, const Piece& word, std::size_t begin, std::size_t end,
           FoundTokens& to) const {
    if (token == unknown_) {
      const std::string_view text = word.text.substr(begin, end - begin);
      const std::int32_t found = special_.contains(text) ? kNoToken : find(text);
      if (found != kNoToken) return to.add(found, word, begin, end);
      if (falls_back_ && append_bytes(bytes_, word, begin, end, to)) return;
      if (unknown_ == kNoToken)
        throw Error(ErrorCode::kNotFound,
                    fmt::format("tokenizer: no token for {}",
                                in_quotes(word.text.substr(begin, end - begin))));
    }
    to.add(token, word, begin, end);
  }

  const bool falls_back_;
  const SpecialTexts special_;
  std::vector<double> scores_;
  std::int32_t unknown_ = kNoToken;
  double unknown_score_ = 0;
  std::array<std::int32_t, 256> bytes_{};
  ByteTrie trie_;
};

}  // namespace

std::unique_ptr<TokenModel> token_model_of(const JsonView& json, const SpecialTexts& special) {
  const std::optional<JsonView> named = json.find("type");
  std::string type = named ? named->as_string() : "";
  // Older files do not name it.
  if (type.empty() && json.find("merges")) type = "BPE";
  if (type.empty() && json.find("unk_id")) type = "Unigram";
  if (type == "BPE") return std::make_unique<BpeModel>(json);
  if (type == "WordPiece") return std::make_unique<WordPieceModel>(json);
  if (type == "WordLevel") return std::make_unique<WordLevelModel>(json, special);
  if (type == "Unigram") return std::make_unique<UnigramModel>(json, special);
  throw Error(ErrorCode::kUnsupported,
              fmt::format("model.type: expected BPE, WordPiece, WordLevel or Unigram, got {}",
                          in_quotes(type)));
}

}  // namespace limpid::detail
