// Linked into every test program: holds what a test records, and compares it when the test ends.
#include "tests/refusals.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tests/source_folder.h"

namespace limpid {
namespace {

using Lines = std::vector<std::string>;

std::mutex mutex;
std::vector<Lines> recorded;  // by the test at work

// Puts `word` in the place of `folder` and, with `child`, of the name that follows it.
void replace_folder(std::string& text, const std::string& folder, bool child,
                    std::string_view word) {
  for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos; at += word.size()) {
    std::size_t end = at + folder.size();
    if (child) end = std::min(text.find_first_of("/ '\":,;)", end + 1), text.size());
    text.replace(at, end - at, word);
  }
}

// Without what differs between machines and runs, and in lines without control characters.
Lines lines_of(std::string text) {
  const std::string source = testing::source_folder().string();
  replace_folder(text, source + "/build/", true, "BUILD");
  replace_folder(text, source, false, "SOURCE");
  replace_folder(text, (std::filesystem::temp_directory_path() / "").string(), true, "TMP");
  Lines lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else if (static_cast<unsigned char>(c) >= ' ' && c != 0x7f) {
      lines.back() += c;
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned char>(c));
      lines.back() += escape;
    }
  }
  return lines;
}

// "[program Suite.Test]"; the instances of a test with parameters share "[program Suite.Test/*]".
std::string heading(const ::testing::TestInfo& test) {
  std::string program = ::program_invocation_short_name;
  if (program.ends_with("_test")) program.resize(program.size() - 5);
  std::string suite = test.test_suite_name(), name = test.name();
  const bool values = test.value_param() != nullptr, types = test.type_param() != nullptr;
  if (values) name.resize(name.find('/'));
  if (values && suite.find('/') != std::string::npos) suite.erase(0, suite.find('/') + 1);
  if (types) suite.resize(suite.rfind('/'));
  return "[" + program + " " + suite + "." + name + (values || types ? "/*]" : "]");
}

// tests/bless.py writes the file: a heading, and below it the lines, indented by two; a single one
// stands behind its heading.
std::map<std::string, Lines> read_golden() {
  std::map<std::string, Lines> all;
  std::ifstream file(testing::source_folder() / "tests/messages.txt");
  Lines* at = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[")) {
      const std::size_t end = line.find(']') + 1;
      at = &all[line.substr(0, end)];
      if (end < line.size()) at->push_back(line.substr(end + 1));
    } else if (at != nullptr) {
      at->push_back(line.empty() ? line : line.substr(2));
    }
  }
  return all;
}

std::string listed(const Lines& lines, std::string_view mark) {
  std::string text;
  for (const std::string& line : lines) text += "\n" + std::string(mark) + line;
  return text;
}

void compare(const ::testing::TestInfo& test, const std::string& heading, Lines said) {
  static const std::map<std::string, Lines> golden = read_golden();
  const auto found = golden.find(heading);
  Lines expected = found == golden.end() ? Lines() : found->second;
  if (heading.ends_with("/*]")) {  // an instance says some of the lines
    const auto known = [&](const std::string& line) {
      return std::find(expected.begin(), expected.end(), line) != expected.end();
    };
    said.erase(std::remove_if(said.begin(), said.end(), known), said.end());
    expected.clear();
  }
  if (expected == said) return;
  const auto [a, b] = std::mismatch(expected.begin(), expected.end(), said.begin(), said.end());
  expected.erase(expected.begin(), a);
  said.erase(said.begin(), b);
  while (!expected.empty() && !said.empty() && expected.back() == said.back()) {
    expected.pop_back();
    said.pop_back();
  }
  ADD_FAILURE_AT(test.file(), test.line())
      << "messages differ from those of tests/messages.txt, " << heading << listed(expected, "- ")
      << listed(said, "+ ") << "\n./dev bless accepts them after a review";
}

// With LIMPID_BLESS, the folder that takes what was recorded, one file a process.
class Recorder : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo&) override {
    const std::lock_guard lock(mutex);
    recorded.clear();
  }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    Lines said;
    {
      const std::lock_guard lock(mutex);
      for (const Lines& lines : recorded) said.insert(said.end(), lines.begin(), lines.end());
    }
    const bool whole = !test.result()->Skipped() && !test.result()->HasFatalFailure();
    if (std::getenv("LIMPID_BLESS") == nullptr) {
      if (whole) compare(test, heading(test), said);
    } else {
      // What a test that did not end says is not all: its old lines stay.
      bless_ += heading(test) + (whole && test.result()->Passed() ? "\n" : " kept\n");
      for (const std::string& line : said) bless_ += (line.empty() ? "" : "  ") + line + "\n";
    }
  }

  void OnTestProgramEnd(const ::testing::UnitTest&) override {
    const char* folder = std::getenv("LIMPID_BLESS");
    if (folder == nullptr) return;
    std::string path = std::string(folder) + "/XXXXXX";
    const int file = ::mkstemp(path.data());
    if (file < 0 || ::write(file, bless_.data(), bless_.size()) != ssize_t(bless_.size())) {
      std::perror(path.c_str());
      std::abort();
    }
    ::close(file);
  }

  std::string bless_;
};

[[maybe_unused]] const bool listens = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Recorder);
  return true;
}();

}  // namespace

void expect_message(std::string text) {
  Lines lines = lines_of(std::move(text));
  const std::lock_guard lock(mutex);
  const auto alike = [&](const Lines& other) {
    return std::equal(lines.begin(), lines.end(), other.begin(), other.end(),
                      [](const std::string& a, const std::string& b) {
                        return a.substr(0, a.find(", got ")) == b.substr(0, b.find(", got "));
                      });
  };
  if (std::none_of(recorded.begin(), recorded.end(), alike)) recorded.push_back(std::move(lines));
}

}  // namespace limpid
