// The matrices of Winograd's minimal filtering (Lavin and Gray, "Fast algorithms for convolutional
// neural networks", CVPR 2016) for the points 0, +-a_1, ..., +-a_k and infinity, n = 2k + 2 of
// them.
//
// A tile of m x m outputs of a filter of r x r taps needs n = m + r - 1 inputs each way:
//
//   y = A^T [ (G g G^T) . (B^T x B) ] A          "." multiplies element by element
//
// The filter g is evaluated at the points, as a polynomial; so is what A transposed undoes; B
// depends on the points alone. The rows of B for +-a_i are even_i +- a_i * odd_i, where both have
// the coefficients of the product of (z - p_j) over the other squares p_j = a_j^2, and those of 0
// and infinity are the product over all squares. So a transform costs about half of its products.
//
// The points decide how much is lost to rounding: +-5/8 and +-3/2 lose less than half of what the
// textbook's +-1 and +-2 do, and B and A remain exact.

#ifndef DTNN_KERNELS_CONV_WINOGRAD_POINTS_H_
#define DTNN_KERNELS_CONV_WINOGRAD_POINTS_H_

#include <array>
#include <cstddef>

namespace dtnn::conv::winograd {

template <int kPoints>
struct Points;
template <>
struct Points<4> {
  static constexpr std::array<double, 1> kPairs = {1};
};
template <>
struct Points<6> {
  static constexpr std::array<double, 2> kPairs = {0.625, 1.5};
};
template <>
struct Points<8> {
  static constexpr std::array<double, 3> kPairs = {1, 2, 0.5};
};

// Coefficients, lowest first, of the product of (z - a^2) over all pairs but `without`.
template <int kPoints>
constexpr auto SquaresProduct(int without) {
  constexpr auto& kPairs = Points<kPoints>::kPairs;
  std::array<double, kPairs.size() + 1> product = {1};
  for (int i = 0; i < int(kPairs.size()); ++i) {
    if (i == without) continue;
    const double root = kPairs[size_t(i)] * kPairs[size_t(i)];
    for (size_t power = kPairs.size(); power > 0; --power) {
      product[power] = product[power - 1] - root * product[power];
    }
    product[0] *= -root;
  }
  return product;
}

constexpr double Power(double base, int exponent) {
  double power = 1;
  for (int i = 0; i < exponent; ++i) power *= base;
  return power;
}

// Point `i` in the order of the rows of B: 0, a_1, -a_1, a_2, -a_2, ... (infinity is the last).
template <int kPoints>
constexpr double PointAt(int i) {
  return i == 0 ? 0 : Points<kPoints>::kPairs[size_t(i - 1) / 2] * (i % 2 == 1 ? 1 : -1);
}

// By what a polynomial's value at point `i` is divided: the product of the differences to the
// other points.
template <int kPoints>
constexpr double Norm(int i) {
  double norm = 1;
  for (int j = 0; i < kPoints - 1 && j < kPoints - 1; ++j) {
    if (j != i) norm *= PointAt<kPoints>(i) - PointAt<kPoints>(j);
  }
  return norm;
}

// One over the norms of points i and j: what element (i, j) of a transformed filter is scaled by.
template <int kPoints>
inline constexpr auto kInverseNorms = [] {
  std::array<std::array<double, kPoints>, kPoints> inverse = {};
  for (int i = 0; i < kPoints; ++i) {
    for (int j = 0; j < kPoints; ++j) {
      inverse[size_t(i)][size_t(j)] = 1 / (Norm<kPoints>(i) * Norm<kPoints>(j));
    }
  }
  return inverse;
}();

}  // namespace dtnn::conv::winograd

#endif  // DTNN_KERNELS_CONV_WINOGRAD_POINTS_H_
