#include "comm/secrets/masked/fixed_point.h"

#include <cmath>
#include <type_traits>

#include "tensor/errors.h"

namespace dtnn::masked {

double FixedPointLimit(int word_bits, int fraction_bits, int clients) {
  // One unit less, since numbers just below the limit are rounded up.
  return std::ldexp(std::ldexp(1.0, word_bits - 1) / clients - 1, -fraction_bits);
}

template <typename T, typename Word>
absl::Status ToFixedPoint(std::span<const T> values, int fraction_bits, double limit,
                          std::span<Word> words) {
  if (words.size() != values.size()) {
    return InvalidArgument("cannot write ", values.size(), " numbers to ", words.size(), " words");
  }
  bool fits = true;
  for (const T value : values) fits &= std::abs(double(value)) < limit;  // false for NaN
  if (!fits) {
    return InvalidArgument(
        "cannot make integers: a number is NaN, infinite, or not below the "
        "limit of ",
        limit,
        " in magnitude, beyond which the sum could wrap "
        "around");
  }
  const double scale = std::ldexp(1.0, fraction_bits);
  for (size_t i = 0; i < values.size(); ++i) {
    words[i] = Word(std::llrint(double(values[i]) * scale));
  }
  return absl::OkStatus();
}

template <typename T, typename Word>
void FromFixedPoint(std::span<const Word> words, int fraction_bits, std::span<T> values) {
  const double unit = std::ldexp(1.0, -fraction_bits);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = T(double(std::make_signed_t<Word>(words[i])) * unit);
  }
}

template absl::Status ToFixedPoint(std::span<const float>, int, double, std::span<uint32_t>);
template absl::Status ToFixedPoint(std::span<const float>, int, double, std::span<uint64_t>);
template absl::Status ToFixedPoint(std::span<const double>, int, double, std::span<uint32_t>);
template absl::Status ToFixedPoint(std::span<const double>, int, double, std::span<uint64_t>);
template void FromFixedPoint(std::span<const uint32_t>, int, std::span<float>);
template void FromFixedPoint(std::span<const uint64_t>, int, std::span<float>);
template void FromFixedPoint(std::span<const uint32_t>, int, std::span<double>);
template void FromFixedPoint(std::span<const uint64_t>, int, std::span<double>);

}  // namespace dtnn::masked
