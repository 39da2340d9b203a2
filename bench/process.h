// A child process that reads commands from its standard input and answers with lines and numbers on
// its standard output.
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
    std::vector<std::pair<std::string, std::string>> environment;  // added to ours
    std::optional<int> cpu;                                        // to which it is pinned
  };

  explicit Process(const Options& options);
  // Closes its input and waits until it ends.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Memory of the process and its children, MiB: now, and the maximum so far.
  double resident_mib() const;
  double most_resident_mib() const;

  // The answer. Throws if it begins with "error", or if the program has ended.
  std::string ask(const std::string& line);
  // The numbers after the answer "floats N"; nothing for the answer "none".
  std::vector<float> ask_floats(const std::string& line);

 private:
  std::string name_;
  pid_t pid_;
  std::FILE* to_;
  std::FILE* from_;
};

}  // namespace bench
