// Encodes texts: a JSON string on each line of the standard input becomes the tokens, and the text
// that they decode to, on a line of the output.
//
// usage: tokenize_lines FOLDER
#include <iostream>
#include <string>

#include "limpid/core/error.h"
#include "limpid/core/json.h"
#include "limpid/data/text/tokenizer_files.h"

int main(int, char** arguments) {
  using namespace limpid;
  try {
    const Tokenizer tokenizer = load_tokenizer(arguments[1]).value();
    for (std::string line; std::getline(std::cin, line);) {
      const Json json = Json::parse(line);
      const TextTokens tokens =
          tokenizer.tokens(json.as_string(), {.special = true, .whole = true});
      std::cout
          << Json{{"ids", Json(tokens.ids)}, {"text", tokenizer.text(tokens.ids, true)}}.dump()
          << "\n";
    }
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
