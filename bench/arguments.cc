// The options of a program that measures, by CLI11.
#include "bench/arguments.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

namespace bench {
namespace {

template <class T>
CLI::Option* add(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  return app.add_option("--" + name, value, help)->capture_default_str();
}

}  // namespace

Arguments::Arguments(const std::string& purpose) : app_(std::make_unique<CLI::App>(purpose)) {}
Arguments::~Arguments() = default;

void Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag("--" + name, value, help);
}

void Arguments::option(const std::string& name, int& value, int least, int most,
                       const std::string& help) {
  add(*app_, name, value, help)->check(CLI::Range(least, most));
}

void Arguments::option(const std::string& name, std::int64_t& value, std::int64_t least,
                       std::int64_t most, const std::string& help) {
  add(*app_, name, value, help)->check(CLI::Range(least, most));
}

void Arguments::option(const std::string& name, double& value, double least, double most,
                       const std::string& help) {
  add(*app_, name, value, help)->check(CLI::Range(least, most));
}

void Arguments::option(const std::string& name, std::string& value, const std::string& help) {
  add(*app_, name, value, help);
}

void Arguments::option(const std::string& name, std::filesystem::path& value,
                       const std::string& help) {
  app_->add_option("--" + name, value, help);
}

void Arguments::option(const std::string& name, std::vector<int>& values, int least, int most,
                       const std::string& help) {
  app_->add_option("--" + name, values, help)->check(CLI::Range(least, most));
}

void Arguments::option(const std::string& name, std::vector<std::string>& values,
                       const std::string& help) {
  app_->add_option("--" + name, values, help);
}

void Arguments::choice(const std::string& name, std::string& value,
                       const std::vector<std::string>& of, const std::string& help) {
  app_->add_option("--" + name, value, help)->check(CLI::IsMember(of));
}

int Arguments::run(int argc, char** argv, const std::function<void()>& program) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app_->exit(e);
  }
  try {
    program();
  } catch (const std::exception& e) {
    const std::string name = std::filesystem::path(argv[0]).filename();
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return 1;
  }
  return 0;
}

}  // namespace bench
