// Tokenizers: tokenizer.json; or vocab.json, a zero byte and merges.txt; or a model's own.
#include "limpid/data/text/tokenizer.h"

#include "limpid/data/text/tokenizer_files.h"
#include "tests/fuzz/support.h"

namespace limpid::fuzz {
namespace {

void use(const Tokenizer& tokenizer) {
  if (tokenizer.pipeline()) {
    const std::string text = "It's  the\n\n 12345 \xc3\xa9 e\xcc\x81 words, <|end|> words.";
    const TextTokens tokens =
        tokenizer.tokens(text, {.special = true, .whole = true, .spans = true});
    require(tokens.spans.size() == tokens.ids.size(), "each token has its bytes");
    for (const TextTokens::Span& span : tokens.spans)
      require(span.begin <= span.end && span.end <= text.size(), "the bytes are those of the text");
    tokenizer.decode(tokens.ids);
    tokenizer.text(tokens.ids, true);
    return;
  }
  const std::string text = "It's  the\n\n 12345 \xc3\xa9\xff words, words.";
  const Tensor tokens = tokenizer.encode(text);
  require(tokenizer.decode(tokens.values<std::int32_t>()) == text, "bytes survive");
}

void read(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  goes_well([&] { Tokenizer::from_config(Json::parse(text)).config(); });
  const TemporaryFolder folder;
  const std::size_t zero = text.find('\0');
  folder.write(zero == std::string_view::npos ? "tokenizer.json" : "vocab.json",
               bytes_of(text.substr(0, zero)));
  if (zero != std::string_view::npos) folder.write("merges.txt", bytes_of(text.substr(zero + 1)));
  goes_well([&] {
    const TemporaryFolder other;
    other.write("tokenizer.model", bytes_of(text));
    use(load_tokenizer(other.path()).value());
  });
  const Tokenizer tokenizer = load_tokenizer(folder.path()).value();
  use(tokenizer);
  require(Tokenizer::from_config(tokenizer.config()) == tokenizer,
          "a tokenizer is read as it was written");
}

// The bytes' tokens and the first few that were learnt, of the vocabulary of the tests.
std::vector<Bytes> seeds() {
  const auto file = [](const char* name) {
    return std::string(text_of(fixtures("data/byte_pair", name).at(0)));
  };
  const std::string all = file("vocab.json"), learnt = file("merges.txt");
  const std::string vocabulary = all.substr(0, all.find(":259") + 4) + "}";
  std::size_t end = 0;
  for (int lines = 0; lines < 5; ++lines) end = learnt.find('\n', end) + 1;
  const std::string merges = learnt.substr(0, end);
  const std::string json = R"({"added_tokens":[{"id":260,"content":"<|end|>"}],"normalizer":null,)"
                           R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
                           R"("model":{"type":"BPE","ignore_merges":true,"merges":[],"vocab":)" +
                           vocabulary + "}}";
  const std::string pipeline =
      R"({"added_tokens":[{"id":9,"content":"<|end|>","lstrip":true,"special":true}],"normalizer":{)"
      R"("type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"BertNormalizer"},{"type":"Replace",)"
      R"("pattern":{"Regex":"[0-9]{2,}|(?i:it)'"},"content":"_"}]},"pre_tokenizer":{"type":"Sequence",)"
      R"("pretokenizers":[{"type":"Split","pattern":{"Regex":"\\s+(?!\\S)|\\p{L}+|.?"},)"
      R"("behavior":"MergedWithNext"},{"type":"Metaspace"}]},"model":{"type":"Unigram","unk_id":0,)"
      R"("byte_fallback":true,"vocab":[["?",0],["wor",-2.5],["ds",-3],["<0x31>",-9],["e",-4]]},)"
      R"("decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Metaspace"}]}})";
  return {bytes_of(vocabulary + '\0' + merges), bytes_of(json), bytes_of(pipeline)};
}

std::vector<std::string> words() {
  return {"\"model\"",
          "\"vocab\"",
          "\"merges\"",
          "\"added_tokens\"",
          "\"id\"",
          "\"content\"",
          "\"ignore_merges\"",
          "\"special\"",
          "\"tokens\"",
          "\"kind\"",
          "\"BPE\"",
          "\"ByteLevel\"",
          "\"WordPiece\"",
          "\"Regex\"",
          "\"type\"",
          "null",
          "true",
          "-1",
          "0.5",
          "262144",
          "4294967296",
          "#version: 0.2",
          "\\u0120"};
}

}  // namespace

const Target& tokenizer() {
  static const Target target{"tokenizer", read, seeds, words};
  return target;
}

}  // namespace limpid::fuzz
