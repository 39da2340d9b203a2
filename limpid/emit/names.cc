// Which names are valid in C++.
#include "limpid/emit/detail/names.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>

#include "limpid/core/utf8.h"

namespace limpid::emit {
namespace {

// Of C++20, alternative tokens and names that the C library's headers may define as macros.
constexpr std::string_view kKeywords[] = {
    "EOF",       "INFINITY",      "NAN",          "NULL",         "alignas",
    "alignof",   "and",           "and_eq",       "asm",          "auto",
    "bitand",    "bitor",         "bool",         "break",        "case",
    "catch",     "char",          "char16_t",     "char32_t",     "char8_t",
    "class",     "co_await",      "co_return",    "co_yield",     "compl",
    "concept",   "const",         "const_cast",   "consteval",    "constexpr",
    "constinit", "continue",      "decltype",     "default",      "delete",
    "do",        "double",        "dynamic_cast", "else",         "enum",
    "errno",     "explicit",      "export",       "extern",       "false",
    "float",     "for",           "friend",       "goto",         "if",
    "inline",    "int",           "linux",        "long",         "math_errhandling",
    "mutable",   "namespace",     "new",          "noexcept",     "not",
    "not_eq",    "nullptr",       "operator",     "or",           "or_eq",
    "private",   "protected",     "public",       "register",     "reinterpret_cast",
    "requires",  "return",        "short",        "signed",       "sizeof",
    "static",    "static_assert", "static_cast",  "std",          "struct",
    "switch",    "template",      "this",         "thread_local", "throw",
    "true",      "try",           "typedef",      "typeid",       "typename",
    "union",     "unix",          "unsigned",     "using",        "virtual",
    "void",      "volatile",      "wchar_t",      "while",        "xor",
    "xor_eq"};

bool is_letter_or_digit(char c) {
  return c > 0 && std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether the name may be a macro of a standard header: NAN, EOF, FE_TONEAREST, M_PIl. These have
// two capitals or more and nothing in lower case, except for glibc's constants by type.
bool may_be_macro(std::string_view name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return name.starts_with("M_") || (std::count_if(name.begin(), name.end(), is_upper) > 1 &&
                                    std::none_of(name.begin(), name.end(), is_lower));
}

// No control characters, no line ends or characters that compilers treat as such, and no marks of
// writing direction, which could make a comment look like code.
bool can_stand_in_a_comment(char32_t c) {
  if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == '\\') return false;
  const bool directs = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                       (c >= 0x2066 && c <= 0x2069);
  const bool ends_line = c == 0x2028 || c == 0x2029;
  return !directs && !ends_line;
}

}  // namespace

bool is_identifier(std::string_view name) {
  const bool words = std::all_of(name.begin(), name.end(),
                                 [](char c) { return is_letter_or_digit(c) || c == '_'; });
  // Names with an underscore in front, or with two, are the implementation's.
  return words && !name.empty() && !is_digit(name[0]) && name[0] != '_' &&
         name.find("__") == std::string_view::npos &&
         std::find(std::begin(kKeywords), std::end(kKeywords), name) == std::end(kKeywords);
}

bool is_namespace(std::string_view name) {
  // Of <cmath>, <cstring> and <cstdlib>, also as glibc has them.
  constexpr std::string_view kFunctions[] = {
      "abort",     "abs",        "acos",      "acosh",    "asin",     "asinh",       "atan",
      "atan2",     "atanh",      "atexit",    "atof",     "atoi",     "atol",        "atoll",
      "basename",  "bcmp",       "bcopy",     "bsearch",  "bzero",    "calloc",      "cbrt",
      "ceil",      "copysign",   "cos",       "cosh",     "div",      "drand48",     "drem",
      "erf",       "erfc",       "exit",      "exp",      "exp10",    "exp2",        "expm1",
      "fabs",      "fdim",       "ffs",       "finite",   "floor",    "fma",         "fmax",
      "fmin",      "fmod",       "free",      "frexp",    "gamma",    "getenv",      "hypot",
      "ilogb",     "index",      "j0",        "j1",       "jn",       "labs",        "ldexp",
      "ldiv",      "lgamma",     "llabs",     "lldiv",    "llrint",   "llround",     "log",
      "log10",     "log1p",      "log2",      "logb",     "lrint",    "lround",      "main",
      "malloc",    "memccpy",    "memchr",    "memcmp",   "memcpy",   "memmem",      "memmove",
      "memset",    "mkdtemp",    "mkstemp",   "mktemp",   "modf",     "nan",         "nearbyint",
      "nextafter", "nexttoward", "pow",       "putenv",   "qsort",    "rand",        "random",
      "realloc",   "realpath",   "remainder", "remquo",   "rindex",   "rint",        "round",
      "roundeven", "scalb",      "scalbln",   "scalbn",   "setenv",   "significand", "sin",
      "sincos",    "sinh",       "sqrt",      "srand",    "srandom",  "stpcpy",      "strcat",
      "strchr",    "strcmp",     "strcoll",   "strcpy",   "strcspn",  "strdup",      "strerror",
      "strlen",    "strncat",    "strncmp",   "strncpy",  "strpbrk",  "strrchr",     "strsep",
      "strsignal", "strspn",     "strstr",    "strtod",   "strtof",   "strtok",      "strtol",
      "strtold",   "strtoll",    "strtoul",   "strtoull", "strxfrm",  "swab",        "system",
      "tan",       "tanh",       "tgamma",    "trunc",    "unsetenv", "y0",          "y1",
      "yn"};
  return is_identifier(name) &&
         std::find(std::begin(kFunctions), std::end(kFunctions), name) == std::end(kFunctions);
}

std::string Names::unique(std::string_view wish, std::string_view fallback) {
  std::string name;
  for (const char c : wish)
    if (is_letter_or_digit(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  if (!is_identifier(name) || may_be_macro(name)) name = std::string(fallback) + name;
  if (!is_identifier(name)) name = fallback;
  std::string tried = name;
  for (int& last = last_.try_emplace(name, 1).first->second; !taken_.insert(tried).second;)
    tried = name + (name.back() == '_' ? "" : "_") + std::to_string(++last);
  return tried;
}

std::string comment_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::optional<CodePoint> point = first_code_point(text);
    const std::size_t bytes = point ? point->bytes : 1;
    if (point && can_stand_in_a_comment(point->value))
      result += text.substr(0, bytes);
    else
      result += '?';
    text.remove_prefix(bytes);
  }
  // A trigraph, which is a backslash.
  for (std::size_t at = 0; (at = result.find("?\?/", at)) != std::string::npos;)
    result[at + 2] = '?';
  return result;
}

}  // namespace limpid::emit
