#include "limpid/ops/group.h"

#include "limpid/core/error.h"
#include "limpid/ops/reduce.h"

namespace limpid {

Args operator+(const Args& a, const Args& b) {
  return map([](Value x, Value y) { return x + y; }, a, b);
}
Args operator-(const Args& a, const Args& b) {
  return map([](Value x, Value y) { return x - y; }, a, b);
}
Args operator*(const Args& a, const Args& b) {
  return map([](Value x, Value y) { return x * y; }, a, b);
}
Args operator/(const Args& a, const Args& b) {
  return map([](Value x, Value y) { return x / y; }, a, b);
}

Args operator+(const Args& a, Value b) {
  return a.map([&](Value x) { return x + b; });
}
Args operator+(Value a, const Args& b) {
  return b.map([&](Value y) { return a + y; });
}
Args operator+(const Args& a, double b) {
  return a.map([&](Value x) { return x + b; });
}
Args operator+(double a, const Args& b) {
  return b.map([&](Value y) { return a + y; });
}
Args operator-(const Args& a, Value b) {
  return a.map([&](Value x) { return x - b; });
}
Args operator-(Value a, const Args& b) {
  return b.map([&](Value y) { return a - y; });
}
Args operator-(const Args& a, double b) {
  return a.map([&](Value x) { return x - b; });
}
Args operator-(double a, const Args& b) {
  return b.map([&](Value y) { return a - y; });
}
Args operator*(const Args& a, Value b) {
  return a.map([&](Value x) { return x * b; });
}
Args operator*(Value a, const Args& b) {
  return b.map([&](Value y) { return a * y; });
}
Args operator*(const Args& a, double b) {
  return a.map([&](Value x) { return x * b; });
}
Args operator*(double a, const Args& b) {
  return b.map([&](Value y) { return a * y; });
}
Args operator/(const Args& a, Value b) {
  return a.map([&](Value x) { return x / b; });
}
Args operator/(Value a, const Args& b) {
  return b.map([&](Value y) { return a / y; });
}
Args operator/(const Args& a, double b) {
  return a.map([&](Value x) { return x / b; });
}
Args operator/(double a, const Args& b) {
  return b.map([&](Value y) { return a / y; });
}

Args operator-(const Args& a) {
  return a.map([](Value x) { return -x; });
}

Value dot(const Args& a, const Args& b) {
  if (a.empty()) throw Error(ErrorCode::kInvalidArgument, "dot: expected groups, got no Values");
  Value total;
  for (const auto& [name, product] : a* b) total = total ? total + sum(product) : sum(product);
  return total;
}

}  // namespace limpid
