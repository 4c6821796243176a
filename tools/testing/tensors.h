// Tensors for tests: filled reproducibly, and compared with a message that lets the reader repeat
// and understand a failure (worst element, its index, the tolerance). All lie in memory that shows
// every access outside of them (fenced.h).

#ifndef DTNN_TOOLS_TESTING_TENSORS_H_
#define DTNN_TOOLS_TESTING_TENSORS_H_

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/tensor.h"
#include "tools/testing/fenced.h"

namespace dtnn::testing {

// Integers in [-range, range]: small sums of products are exact in any floating type, so a wrong
// index shows as an exact difference that no tolerance hides.
Tensor IntegerTensor(DType dtype, const Shape& shape, uint64_t seed, int range = 4);
// Uniform in [-1, 1).
Tensor RandomTensor(DType dtype, const Shape& shape, uint64_t seed);
Tensor ZeroTensor(DType dtype, const Shape& shape);
Tensor TensorOf(DType dtype, const Shape& shape, const std::vector<double>& values);

Tensor OnesTensor(DType dtype, const Shape& shape);
// Ones, but for the first, the middle and the last element, which are NaN.
Tensor NaNTensor(DType dtype, const Shape& shape);

// A pitched image tensor or matrix of the same elements: the middle channels of a wider one, whose
// other channels are NaN and may not be written (fenced.h).
Tensor Pitched(const Tensor& dense, TensorFormat format, Fence fence = Fence::kBehind);

// The elements in row-major order of the shape, whatever the pitch.
std::vector<double> Values(const Tensor& tensor, TensorFormat format = TensorFormat::kNHWC);

// Passes when |actual - expected| <= absolute + relative * |expected| for every element.
// A sum of k products of values around 1 has an error near sqrt(k) * epsilon: see SumTolerance.
::testing::AssertionResult Close(const std::vector<double>& actual,
                                 const std::vector<double>& expected, double absolute,
                                 double relative = 0);
::testing::AssertionResult Close(const Tensor& actual, const Tensor& expected, double absolute,
                                 double relative = 0, TensorFormat format = TensorFormat::kNHWC);

bool HasNaN(const std::vector<double>& values);
// Passes when there is a NaN in `expected`, and one in `actual` wherever there is one in
// `expected`.
::testing::AssertionResult KeepsNaN(const std::vector<double>& actual,
                                    const std::vector<double>& expected);

// Bound for the rounding error of a sum of `terms` products of numbers in [-1, 1]:
// 4 * epsilon(dtype) * (sqrt(terms) + 1), some standard deviations of the random walk of roundings.
double SumTolerance(DType dtype, int64_t terms);

}  // namespace dtnn::testing

#endif  // DTNN_TOOLS_TESTING_TENSORS_H_
