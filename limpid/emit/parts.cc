// Reads sources as lists of definitions and finds the dependencies between them.
#include "limpid/emit/detail/parts.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "limpid/emit/detail/sources.h"

namespace limpid::emit {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// One definition at namespace scope, with the comment above it.
struct Item {
  std::string text;
  std::string name;
  bool is_function = false;
  bool is_functor = false;
};

// ---- reading

// Reads the definitions of a file. It supports the parts of C++ that those files use: comments,
// strings, nested brackets, namespaces, templates.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<Item> items() {
    std::vector<Item> items;
    std::size_t comment = kNone;  // where the comment above begins
    while (skip_blanks(comment)) {
      const std::string_view rest = text_.substr(at_);
      if (rest[0] == '#') {
        at_ = end_of_line();
        comment = kNone;
      } else if (rest[0] == '}') {
        ++at_;
        comment = kNone;
      } else if (starts_with_word(rest, "namespace") && rest.find('{') < rest.find(';')) {
        at_ += rest.find('{') + 1;
        comment = kNone;
      } else {
        const std::size_t begin = at_;
        at_ = end_of_definition();
        add(items, text_.substr(begin, at_ - begin),
            comment == kNone ? std::string_view() : text_.substr(comment, begin - comment));
        comment = kNone;
      }
    }
    return items;
  }

 private:
  static constexpr std::size_t kNone = std::string_view::npos;

  static bool starts_with_word(std::string_view text, std::string_view word) {
    return text.starts_with(word) && (text.size() == word.size() || !is_word(text[word.size()]));
  }

  std::size_t end_of_line() const { return std::min(text_.find('\n', at_), text_.size()); }

  // Skips to the next character that is not blank or comment; a blank line ends a comment.
  bool skip_blanks(std::size_t& comment) {
    for (; at_ < text_.size(); ++at_) {
      if (text_.substr(at_).starts_with("\n\n")) comment = kNone;
      if (text_.substr(at_).starts_with("//")) {
        if (comment == kNone) comment = at_;
        at_ = end_of_line();
        --at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) == 0) {
        return true;
      }
    }
    return false;
  }

  // The position after the brace or semicolon that ends it.
  std::size_t end_of_definition() const {
    int depth = 0;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      const char c = text_[i];
      if (text_.substr(i).starts_with("//")) i = std::min(text_.find('\n', i), text_.size());
      if (c == '"') i = text_.find('"', i + 1);
      if (c == '(' || c == '{' || c == '[') ++depth;
      if (c == ')' || c == '}' || c == ']') --depth;
      if (depth > 0) continue;
      if (c == ';') return i + 1;
      if (c == '}') return text_.substr(i + 1).starts_with(";") ? i + 2 : i + 1;
    }
    return text_.size();
  }

  static void add(std::vector<Item>& items, std::string_view definition, std::string_view comment) {
    std::string_view head = without_template(definition);
    if (head.starts_with("[[")) head.remove_prefix(head.find("]]") + 3);
    for (std::string_view skipped : {"using", "static_assert", "namespace"})
      if (starts_with_word(head, skipped)) return;
    Item item;
    const bool is_template = head.size() < definition.size();
    if (starts_with_word(head, "struct") || starts_with_word(head, "class")) {
      item.name = first_word(head.substr(head.find(' ')));
      item.is_functor = head.find("operator()(") != std::string_view::npos;
    } else {
      const std::size_t end = head.find_first_of("(=[{;");
      item.is_function = head[end] == '(';
      item.name = last_word(head.substr(0, end));
    }
    const bool needs_inline = item.is_function && !is_template &&
                              !starts_with_word(head, "inline") &&
                              !starts_with_word(head, "constexpr");
    item.text = std::string(comment) + (needs_inline ? "inline " : "") + std::string(definition);
    items.push_back(std::move(item));
  }

  static std::string_view without_template(std::string_view text) {
    if (!starts_with_word(text, "template")) return text;
    int depth = 0;
    for (std::size_t i = text.find('<'); i < text.size(); ++i) {
      depth += text[i] == '<' ? 1 : text[i] == '>' ? -1 : 0;
      if (depth == 0) return text.substr(text.find_first_not_of(" \n", i + 1));
    }
    return text;
  }
  static std::string first_word(std::string_view text) {
    const auto* const begin = std::find_if(text.begin(), text.end(), is_word);
    return {begin, std::find_if_not(begin, text.end(), is_word)};
  }
  static std::string last_word(std::string_view text) {
    const auto end = std::find_if(text.rbegin(), text.rend(), is_word);
    return {std::find_if_not(end, text.rend(), is_word).base(), end.base()};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// ---- words

// Calls visit(word, text before it, text after it) for every word outside of comments.
void for_each_word(std::string_view text,
                   const std::function<void(std::size_t, std::size_t)>& visit) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("//")) i = std::min(text.find('\n', i), text.size() - 1);
    if (!is_word(text[i])) continue;
    const std::size_t begin = i;
    while (i < text.size() && is_word(text[i])) ++i;
    visit(begin, i);
  }
}

// Removes "arithmetic::" and the like, as emitted code is in one namespace, and "std::" of
// std::bit_cast, which C++17 lacks and emitted code defines.
std::string in_one_namespace(const std::string& text) {
  constexpr std::string_view kDropped[] = {"arithmetic", "coefficients", "c"};
  std::string result;
  std::size_t copied = 0;
  for_each_word(text, [&](std::size_t begin, std::size_t end) {
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    const std::string_view behind = std::string_view(text).substr(end);
    const bool dropped =
        (std::find(std::begin(kDropped), std::end(kDropped), word) != std::end(kDropped) &&
         behind.starts_with("::")) ||
        (word == "std" && behind.starts_with("::bit_cast<"));
    if (!dropped) return;
    result += text.substr(copied, begin - copied);
    copied = end + 2;
  });
  return result + text.substr(copied);
}

// ---- what is needed

class Library {
 public:
  Library() {
    for (const Source& source : sources())
      for (Item& item : Reader(source.text).items()) {
        if (!may_take(source, item)) continue;
        item.text = in_one_namespace(item.text);
        by_name_.emplace(item.name, items_.size());
        items_.push_back(std::move(item));
      }
  }

  std::string parts_for(std::string_view code) const {
    std::set<std::size_t> needed;
    add_needed(code, needed);
    std::string text;
    for (std::size_t i : needed) text += items_[i].text + "\n\n";
    return text;
  }

 private:
  static bool may_take(const Source& source, const Item& item) {
    return source.only.empty() || is_listed(source.only, item.name) ||
           (item.is_functor && is_listed(source.only, "functors"));
  }

  static bool is_listed(std::string_view list, std::string_view name) {
    return (" " + std::string(list) + " ").find(" " + std::string(name) + " ") != std::string::npos;
  }

  void add_needed(std::string_view code, std::set<std::size_t>& needed) const {
    for_each_word(code, [&](std::size_t begin, std::size_t end) {
      if (code.substr(0, begin).ends_with("std::")) return;
      const auto [first, last] = by_name_.equal_range(std::string(code.substr(begin, end - begin)));
      // A local variable may have a function's name.
      const bool is_called = end < code.size() && (code[end] == '(' || code[end] == '<');
      for (auto it = first; it != last; ++it)
        if ((is_called || !items_[it->second].is_function) && needed.insert(it->second).second)
          add_needed(items_[it->second].text, needed);
    });
  }

  std::vector<Item> items_;
  std::multimap<std::string, std::size_t> by_name_;
};

}  // namespace

std::string parts_for(std::string_view code) {
  static const Library library;
  return library.parts_for(code);
}

}  // namespace limpid::emit
