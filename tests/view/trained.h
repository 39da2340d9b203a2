// A small run of training in a folder of its own, and a session that has it open.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "limpid/train/run/run.h"
#include "limpid/view/api.h"
#include "limpid/view/runs.h"
#include "limpid/view/session.h"

namespace limpid::view {

inline train::TrainConfig moons_config() {
  train::TrainConfig config;
  config.data = "moons:3,count=200";
  config.hidden = {8};
  config.epochs = 4;
  config.batch = 32;
  config.log_every = 1;
  return config;
}

class Trained : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "limpid-view-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    train::Run(moons_config(), {.folder = folder_ / "moons"}).train();
    session_ = std::make_unique<Session>(
        Session::Options{.paths = {(folder_ / "moons").string()}, .folder = folder_ / "runs"});
  }
  void TearDown() override {
    session_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Trains a run in a folder of this name, and opens it.
  std::string add(const std::string& name, const train::TrainConfig& config) {
    train::Run(config, {.folder = folder_ / name}).train();
    return session_->runs().add(folder_ / name);
  }

  // Resumes the run of this configuration in a folder, for one step.
  void resume(const std::string& name, const train::TrainConfig& config) {
    train::Run run(config, {.folder = folder_ / name, .command = {"limpid"}});
    run.resume();
    run.step();
    run.interrupt();
  }

  Json asked(const std::string& name, const std::string& request = "") {
    return Json::parse(answer(*session_, name, request));
  }

  std::filesystem::path folder_;
  std::unique_ptr<Session> session_;
};

}  // namespace limpid::view
