#include "bench/peers.h"

#include <fmt/format.h>

#include <stdexcept>

namespace bench {

const std::vector<Peer>& all_peers() {
  static const char* const open_blas = "/usr/lib/x86_64-linux-gnu/openblas-openmp";
  static const char* const blis = "/usr/lib/x86_64-linux-gnu/blis-openmp";
  static const std::vector<Peer> peers = {
      {"limpid", "limpid", "", ""},
      {"libtorch, OpenBLAS", "torch", "OpenBLAS", open_blas},
      {"libtorch, BLIS", "torch", "BLIS", blis},
      {"PyTorch, Python", "pytorch", "", open_blas},
      {"ONNX Runtime", "onnxruntime", "", ""},
      {"oneDNN, matmul", "dnnl", "matmul", ""},
      {"oneDNN, inner product", "dnnl", "inner_product", ""},
      {"XNNPACK", "xnnpack", "", ""},
      {"Eigen", "eigen", "run-time", ""},
      {"Eigen, compile-time sizes", "eigen", "compile-time", ""},
  };
  return peers;
}

std::unique_ptr<Process> start(const Peer& peer, const std::string& prefix, const Machine& machine,
                               int threads) {
  const std::filesystem::path program =
      std::filesystem::canonical("/proc/self/exe").parent_path() / (prefix + peer.library);
  if (!std::filesystem::exists(program)) throw std::runtime_error("was not built");
  Process::Options options{
      .name = peer.name, .command = {program, peer.variant}, .environment = {}, .cpu = {}};
  const auto set = [&](const char* name, const std::string& value) {
    options.environment.emplace_back(name, value);
  };
  if (!peer.blas.empty()) set("LD_LIBRARY_PATH", peer.blas);
  // libtorch leaves AVX-512 alone unless it is asked for.
  if (machine.isa.find("avx512") != std::string::npos) set("ATEN_CPU_CAPABILITY", "avx512");
  // OpenMP's threads are placed as limpid's are.
  std::string places;
  for (int i = 0; i < threads; ++i)
    places += fmt::format("{}{{{}}}", i ? "," : "", machine.cpus[static_cast<std::size_t>(i)]);
  set("OMP_PLACES", places);
  set("OMP_PROC_BIND", "true");
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
    set(name, std::to_string(threads));
  return std::make_unique<Process>(options);
}

}  // namespace bench
