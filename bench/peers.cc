#include "bench/peers.h"

#include <fmt/format.h>

#include <stdexcept>

namespace bench {

const std::vector<Peer>& all_peers() {
  static const char* const blis = "/usr/lib/x86_64-linux-gnu/blis-openmp";
  static const std::vector<Peer> peers = {
      {"limpid", "limpid", "", ""},
      {"libtorch, OpenBLAS", "torch", "OpenBLAS", kOpenBlas},
      {"libtorch, BLIS", "torch", "BLIS", blis},
      {"libtorch, frozen", "torch", "OpenBLAS frozen", kOpenBlas},
      {"PyTorch, Python", "pytorch", "", kOpenBlas},
      {"ONNX Runtime", "onnxruntime", "", ""},
      {"oneDNN, matmul", "dnnl", "matmul", ""},
      {"oneDNN, inner product", "dnnl", "inner_product", ""},
      {"XNNPACK", "xnnpack", "", ""},
      {"Eigen", "eigen", "run-time", ""},
      {"Eigen, compile-time sizes", "eigen", "compile-time", ""},
  };
  return peers;
}

std::vector<std::pair<std::string, std::string>> environment(const std::string& blas,
                                                             const Machine& machine, int threads) {
  std::vector<std::pair<std::string, std::string>> all;
  if (!blas.empty()) all.emplace_back("LD_LIBRARY_PATH", blas);
  const auto has = [&](const char* flag) { return machine.isa.find(flag) != std::string::npos; };
  // libtorch uses AVX-512 only if asked to.
  if (has("avx512f")) all.emplace_back("ATEN_CPU_CAPABILITY", "avx512");
  if (has("avx512f") && machine.vendor == "GenuineIntel")
    all.emplace_back("OPENBLAS_CORETYPE", has("avx512_bf16") ? "SAPPHIRERAPIDS" : "SKYLAKEX");
  // OpenMP's threads are placed as limpid's are.
  std::string places;
  for (int i = 0; i < threads; ++i)
    places += fmt::format("{}{{{}}}", i ? "," : "", machine.cpus[static_cast<std::size_t>(i)]);
  all.emplace_back("OMP_PLACES", places);
  all.emplace_back("OMP_PROC_BIND", "true");
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
    all.emplace_back(name, std::to_string(threads));
  return all;
}

std::unique_ptr<Process> start(const Peer& peer, const std::string& prefix, const Machine& machine,
                               int threads) {
  const std::filesystem::path program =
      std::filesystem::canonical("/proc/self/exe").parent_path() / (prefix + peer.library);
  if (!std::filesystem::exists(program)) throw std::runtime_error("was not built");
  return std::make_unique<Process>(
      Process::Options{.name = peer.name,
                       .command = {program, peer.variant},
                       .environment = environment(peer.blas, machine, threads),
                       .cpu = {}});
}

}  // namespace bench
