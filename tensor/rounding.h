// Division and multiples rounded up, of numbers that are not negative.

#ifndef DTNN_TENSOR_ROUNDING_H_
#define DTNN_TENSOR_ROUNDING_H_

#include <concepts>
#include <type_traits>

namespace dtnn {

template <std::integral T>
constexpr T CeilDiv(T a, std::type_identity_t<T> b) {
  return (a + b - 1) / b;
}

template <std::integral T>
constexpr T RoundUp(T a, std::type_identity_t<T> multiple) {
  return CeilDiv(a, multiple) * multiple;
}

}  // namespace dtnn

#endif  // DTNN_TENSOR_ROUNDING_H_
