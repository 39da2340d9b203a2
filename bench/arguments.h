// The options of a program that measures, and its end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace bench {

// CLI11's header is read by one source alone: it takes longer to compile than any of the programs.
class Arguments {
 public:
  // What the program does, one line.
  explicit Arguments(const std::string& purpose);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  // "--name", which sets the value to true.
  void flag(const std::string& name, bool& value, const std::string& help);
  // "--name VALUE". The value is the default. Numbers are refused outside of [least, most].
  void option(const std::string& name, int& value, int least, int most,
              const std::string& help = "");
  void option(const std::string& name, std::int64_t& value, std::int64_t least, std::int64_t most,
              const std::string& help = "");
  void option(const std::string& name, double& value, double least, double most,
              const std::string& help = "");
  void option(const std::string& name, std::string& value, const std::string& help = "");
  void option(const std::string& name, std::filesystem::path& value, const std::string& help);
  // "--name VALUE..."
  void option(const std::string& name, std::vector<int>& values, int least, int most,
              const std::string& help);
  void option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  // One of these.
  void choice(const std::string& name, std::string& value, const std::vector<std::string>& of,
              const std::string& help);

  // Reads the arguments and calls the program. Returns the exit status; what the program throws
  // becomes one line on the standard error.
  int run(int argc, char** argv, const std::function<void()>& program);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace bench
