// Packings: packs weights once for all plans that are compiled with the same Packings.
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

// Packed weights are found by the address of the tensor's elements and the layout for the
// instruction set. So copies of a Tensor share packed weights; an equal but separate Tensor does
// not. Plans own the packed weights, which are freed with the last plan that uses them. Neither
// plans nor Packings keep the original tensors alive. Thread-safe.
class Packings {
 public:
  Packings();
  ~Packings();
  Packings(const Packings&) = delete;
  Packings& operator=(const Packings&) = delete;

  // Bytes that the plans keep alive: packed weights and copies of small constants. Constants that
  // plans read in their tensors' own memory are not counted.
  std::size_t bytes() const;

 private:
  friend detail::Plan detail::make_plan(const Function& function, const CompileOptions& options);
  class Kept;

  // Places the constants of a plan: packs them, or finds them packed.
  void place(std::span<detail::Constant> constants);

  std::unique_ptr<Kept> kept_;
};

}  // namespace limpid
