// Products and sums of counts, which are not negative: INT64_MAX where they are larger. For figures
// that are printed and compared, of shapes that files give.

#ifndef DTNN_LAYERS_BASE_SATURATING_H_
#define DTNN_LAYERS_BASE_SATURATING_H_

#include <cstdint>
#include <initializer_list>

namespace dtnn {

constexpr int64_t SaturatingProduct(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool saturated = false;
  for (const int64_t factor : factors) {
    if (factor == 0) return 0;
    saturated |= __builtin_mul_overflow(product, factor, &product);
  }
  return saturated ? INT64_MAX : product;
}

constexpr int64_t SaturatingSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace dtnn

#endif  // DTNN_LAYERS_BASE_SATURATING_H_
