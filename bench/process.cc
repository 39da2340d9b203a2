#include "bench/process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cpus.h"

namespace bench {
namespace {

// Memory of a process and its children as the system reports it, in kB; returned in MiB.
double memory_mib(pid_t process, const std::string& word) {
  const std::string folder = "/proc/" + std::to_string(process);
  double sum = 0;
  std::ifstream status(folder + "/status");
  for (std::string found; status >> found;)
    if (found == word && status >> sum) break;
  sum /= 1024;
  std::ifstream children(folder + "/task/" + std::to_string(process) + "/children");
  for (pid_t child; children >> child;) sum += memory_mib(child, word);
  return sum;
}

// The caller's environment may contain settings of numeric libraries, such as OPENBLAS_CORETYPE. A
// subject inherits none of them: it gets only the settings in its options.
void forget_settings() {
  constexpr std::string_view kPrefixes[] = {"ATEN_", "BLIS_", "DNNL_", "GOMP_",   "GOTO_",
                                            "KMP_",  "MKL_",  "OMP_",  "ONEDNN_", "OPENBLAS_"};
  std::vector<std::string> names;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    if (std::ranges::any_of(kPrefixes, [&](std::string_view p) { return text.starts_with(p); }))
      names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace

Process::Process(const Options& options) : name_(options.name) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
    throw std::runtime_error("cannot make a pipe");
  // If the program has ended, its missing answer shows it.
  std::signal(SIGPIPE, SIG_IGN);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    if (options.cpu) pin(0, *options.cpu);
    forget_settings();
    for (const auto& [variable, value] : options.environment)
      setenv(variable.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (const std::string& word : options.command) words.push_back(const_cast<char*>(word.data()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  to_ = fdopen(to[1], "w");
  from_ = fdopen(from[0], "r");
}

Process::~Process() {
  std::fclose(to_);
  std::fclose(from_);
  waitpid(pid_, nullptr, 0);
}

double Process::resident_mib() const { return memory_mib(pid_, "VmRSS:"); }
double Process::most_resident_mib() const { return memory_mib(pid_, "VmHWM:"); }

std::string Process::ask(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  std::string reply;
  for (int c = std::fgetc(from_); c != '\n'; c = std::fgetc(from_)) {
    if (c == EOF) throw std::runtime_error(name_ + " ended instead of answering: " + line);
    reply += static_cast<char>(c);
  }
  if (reply.compare(0, 5, "error") == 0) throw std::runtime_error(name_ + ": " + reply);
  return reply;
}

std::vector<float> Process::ask_floats(const std::string& line) {
  const std::string reply = ask(line);
  if (reply == "none") return {};
  std::vector<float> values(std::stoul(reply.substr(7)));
  if (std::fread(values.data(), sizeof(float), values.size(), from_) != values.size())
    throw std::runtime_error(name_ + " ended instead of answering: " + line);
  return values;
}

}  // namespace bench
