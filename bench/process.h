// A program that obeys lines on its standard input and answers lines, and numbers, on its standard
// output.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

class Process {
 public:
  struct Options {
    std::string name;  // for messages
    std::vector<std::string> command;
    std::vector<std::pair<std::string, std::string>> environment;  // besides our own
    std::optional<int> cpu;                                        // that it starts on and stays on
  };

  explicit Process(const Options& options);
  // Ends its input, and waits for its end.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Memory of the process and of those it started, MiB: in use now, and the most so far.
  double resident_mib() const;
  double most_resident_mib() const;

  // The answer. Throws where it begins with "error", and where the program has ended.
  std::string ask(const std::string& line);
  // The numbers after an answer "floats N"; none after "none".
  std::vector<float> ask_floats(const std::string& line);

 private:
  std::string name_;
  pid_t pid_;
  std::FILE* to_;
  std::FILE* from_;
};

}  // namespace bench
