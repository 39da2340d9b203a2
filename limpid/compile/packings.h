// Packings: the weights of plans, packed once for all plans that are compiled with one Packings.
//
//   const CompileOptions options{.packings = std::make_shared<Packings>()};
//   const Executable one = compile(bind(f, params), options);  // packs the weights
//   const Executable many = compile(bind(vmap(f, axes, 64), params), options);  // finds them
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace limpid {

struct CompileOptions;
class Function;

namespace detail {
struct Constant;
struct Plan;
Plan make_plan(const Function& function, const CompileOptions& options);
}  // namespace detail

// A constant is found by identity: the memory of its tensor's elements, and the layout that the
// kernels of an instruction set read. Copies of a Tensor share their elements and are found; an
// equal Tensor made anew is not. The plans keep what they read alive, and it dies with the last of
// them; neither plans nor a Packings keep the tensors that were packed. Safe to use from many
// threads at once.
class Packings {
 public:
  Packings();
  ~Packings();
  Packings(const Packings&) = delete;
  Packings& operator=(const Packings&) = delete;

  // Bytes that plans keep alive: packed weights, and copies of small constants beside them.
  // Constants that are read in the memory of their own tensors are not counted.
  std::size_t bytes() const;

 private:
  friend detail::Plan detail::make_plan(const Function& function, const CompileOptions& options);
  class Kept;

  // Puts the constants of a plan where its steps read them.
  void place(std::span<detail::Constant> constants);

  std::unique_ptr<Kept> kept_;
};

}  // namespace limpid
