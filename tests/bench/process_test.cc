// The programs of other libraries: what they are given, and how they answer or fail.
#include "bench/process.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/foreign.h"
#include "bench/peers.h"
#include "tests/refusals.h"

namespace bench {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

// A program that answers every line by what the shell prints.
Process::Options shell(const std::string& script, const Environment& environment = {}) {
  return {
      .name = "the peer", .command = {"sh", "-c", script}, .environment = environment, .cpu = {}};
}

void expect_refused(const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& e) {
    limpid::expect_message(e.what());
  }
}

TEST(Process, AnswersLineByLine) {
  Process process(shell("while read word rest; do echo \"$rest $word\"; done"));
  EXPECT_EQ(process.ask("one two"), "two one");
  EXPECT_EQ(process.ask("three four"), "four three");
  EXPECT_GT(process.resident_mib(), 0);
  EXPECT_GE(process.most_resident_mib(), process.resident_mib());
}

TEST(Process, AnErrorIsThrownWithItsName) {
  Process process(shell("read line; echo 'error no such thing'; read line; exit"));
  for (const char* const line : {"go", "on", "on"}) expect_refused([&] { process.ask(line); });
}

TEST(Process, AProgramThatIsNotThereIsSaid) {
  Process process(
      {.name = "the peer", .command = {"no-such-program"}, .environment = {}, .cpu = {}});
  expect_refused([&] { process.ask("go"); });
}

TEST(Process, AnswersWithNumbers) {
  Process process(
      shell("read line; printf 'floats 2\\n\\0\\0\\200\\077\\0\\0\\0\\300'; read line; echo none;"
            "read line; printf 'floats 2\\n\\0\\0\\200\\077'"));
  EXPECT_EQ(process.ask_floats("go"), (std::vector{1.0f, -2.0f}));
  EXPECT_TRUE(process.ask_floats("go").empty());
  expect_refused([&] { process.ask_floats("go"); });
}

// A setting of the caller's shell would slow a peer down unseen.
TEST(Process, InheritsNoSettingOfANumericLibrary) {
  const std::vector<std::string> settings = {
      "ATEN_CPU_CAPABILITY", "BLIS_NUM_THREADS",  "DNNL_MAX_CPU_ISA",
      "GOMP_SPINCOUNT",      "KMP_BLOCKTIME",     "MKL_NUM_THREADS",
      "OMP_NUM_THREADS",     "OPENBLAS_CORETYPE", "LIMPID_TEST_SETTING"};
  for (const std::string& name : settings) setenv(name.c_str(), "ours", 1);
  std::string script = "read line; echo ";
  for (const std::string& name : settings) script += "${" + name + ":-none} ";
  Process process(shell(script, {{"OMP_NUM_THREADS", "2"}, {"LIMPID_TEST_SETTING", "its"}}));
  for (const std::string& name : settings) unsetenv(name.c_str());
  EXPECT_EQ(process.ask("go"), "none none none none none none 2 none its");
}

Machine machine(const std::string& vendor, const std::string& isa) {
  Machine m;
  m.vendor = vendor;
  m.isa = isa;
  m.cpus = {3, 5, 8};
  return m;
}

std::map<std::string, std::string> settings(const std::string& blas, const Machine& m,
                                            int threads) {
  const Environment all = environment(blas, m, threads);
  return {all.begin(), all.end()};
}

// Debian's OpenBLAS takes a newer Intel CPU for one without AVX.
TEST(Peers, OpenBlasIsToldWhatAnIntelCpuIs) {
  const auto type = [](const Machine& m) {
    const auto all = settings(kOpenBlas, m, 1);
    const auto found = all.find("OPENBLAS_CORETYPE");
    return found == all.end() ? "none" : found->second;
  };
  EXPECT_EQ(type(machine("GenuineIntel", "amx_bf16 avx512_bf16 avx512_vnni avx512f fma avx2")),
            "SAPPHIRERAPIDS");
  EXPECT_EQ(type(machine("GenuineIntel", "avx512_vnni avx512f fma avx2")), "SKYLAKEX");
  EXPECT_EQ(type(machine("GenuineIntel", "fma avx2")), "none");
  EXPECT_EQ(type(machine("AuthenticAMD", "avx512_bf16 avx512_vnni avx512f fma avx2")), "none");
}

TEST(Peers, HaveTheThreadsAndVectorsThatLimpidHas) {
  const auto two = settings(kOpenBlas, machine("AuthenticAMD", "avx512f fma avx2"), 2);
  EXPECT_EQ(two.at("LD_LIBRARY_PATH"), kOpenBlas);
  EXPECT_EQ(two.at("ATEN_CPU_CAPABILITY"), "avx512");
  EXPECT_EQ(two.at("OMP_PLACES"), "{3},{5}");
  EXPECT_EQ(two.at("OMP_PROC_BIND"), "true");
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
    EXPECT_EQ(two.at(name), "2") << name;
  const auto one = settings("", machine("AuthenticAMD", "fma avx2"), 1);
  EXPECT_EQ(one.at("OMP_PLACES"), "{3}");
  EXPECT_FALSE(one.contains("LD_LIBRARY_PATH"));
  EXPECT_FALSE(one.contains("ATEN_CPU_CAPABILITY"));
}

TEST(Peers, LimpidIsTheFirstAndTheirNamesDiffer) {
  std::map<std::string, int> names;
  for (const Peer& peer : all_peers()) EXPECT_EQ(names[peer.name]++, 0) << peer.name;
  EXPECT_EQ(all_peers().front().name, "limpid");
  expect_refused([] { start(all_peers().front(), "no_such_", machine("", ""), 1); });
}

TEST(Threads, AreThoseAskedForOrOneAndTwo) {
  const Machine three = machine("", "");
  EXPECT_EQ(numbers_of_threads({}, three), (std::vector{1, 2}));
  EXPECT_EQ(numbers_of_threads({3}, three), (std::vector{3}));
  expect_refused([&] { numbers_of_threads({1, 4}, three); });
  Machine one = three;
  one.cpus = {0};
  EXPECT_EQ(numbers_of_threads({}, one), (std::vector{1}));
}

TEST(Foreign, ItsFilesGoWithIt) {
  std::string path;
  {
    Foreign foreign(shell("while read line; do echo \"asked $line\"; done"));
    const std::vector<std::byte> bytes = {std::byte{'o'}, std::byte{'k'}};
    path = foreign.file("numbers", bytes);
    std::ifstream file(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator(file), {}), "ok");
    EXPECT_EQ(foreign.process().ask("go"), "asked go");
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(path).parent_path()));
}

}  // namespace
}  // namespace bench
